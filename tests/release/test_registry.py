"""Registry: what lies in a room is found, and what another package names as an entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from discreet.forms import list_forms
from discreet.forms.base import Form
from discreet.publishing.methods import REGISTRY
from discreet.release.registry import find_kinds

PACKAGE = """
from dataclasses import dataclass
from typing import ClassVar

from discreet.forms.generalized import Generalized
from discreet.publishing.methods.generalization import Generalization


class Counted(Generalized):
    name: ClassVar[str] = "counted"


@dataclass(frozen=True)
class Counting(Generalization):
    title: ClassVar[str] = "counting"
    form: ClassVar[str] = "counted"
"""
POINTS = """
[discreet.forms]
counted = counting:Counted

[discreet.publishing.methods]
counting = counting:Counting
"""
SCRIPT = """
import discreet as dc
from discreet.steward.plan import plan_model

people = dc.datasets.adult(sensitive="occupation").head(100)
from counting import Counting
made = dc.publish(people, Counting(dc.KAnonymity(3)))
made.write("out")
print(dc.load("out").form, dc.audit("out", people).kept)
print("counting" in str(plan_model().model_json_schema()))
"""


def test_every_form_and_method_is_listed_once_by_its_own_name() -> None:
    kinds = find_kinds("discreet.forms", Form)  # type: ignore[type-abstract]
    assert [kind.name for kind in kinds] == [*list_forms()]
    assert {method.form for method in REGISTRY.values()} == set(list_forms())


def test_another_package_brings_a_form_and_a_method(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(PACKAGE)
    told = tmp_path / "counting-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(POINTS)
    paths = [str(tmp_path), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.stdout == "counted True\nTrue\n", done.stderr
