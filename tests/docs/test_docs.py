"""The documents tell the truth: their code runs, their links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]
ALONE = [path for path in DOCUMENTS if ROOT / "docs" not in path.parents]
"""Each example stands for itself; those of the site follow one another, see ``test_site``."""
EACH_BY_ITSELF = """
import json, sys
for block in json.load(sys.stdin):
    exec(compile(block, block, "exec"), {"__name__": "__main__"})
"""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", ALONE, ids=lambda p: p.name)
def test_python_examples_run(path: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    if blocks:  # in one process, which loads libraries once, each with names of its own
        done = subprocess.run(
            [sys.executable, "-c", EACH_BY_ITSELF], input=json.dumps(blocks), cwd=tmp_path,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/start/tour.md"])
def test_commands_of_the_first_pages_exist(page: str) -> None:
    from discreet.cli import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    known |= {group.name for group in app.registered_groups if group.name}
    text = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"^discreet (\w+)", text, re.MULTILINE)) <= known
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_the_tour_names_every_principle_and_method() -> None:
    from discreet.principles import REGISTRY
    from discreet.publishing.methods import REGISTRY as METHODS

    text = (ROOT / "docs" / "start" / "tour.md").read_text(encoding="utf-8")
    kinds = [*REGISTRY.values(), *METHODS.values()]
    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}(" not in text] == []


def test_the_table_in_the_readme_is_what_discreet_computes() -> None:
    import discreet as dc
    from samples import angel_table_1a

    release = dc.publish(angel_table_1a(), dc.Generalization(dc.FrequencyDiversity(2)))
    rows = release.tables["generalized"].select("age", "sex", "disease").rows()[:5]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"\| (\[[^|]*\]) \| (\S+) \| (\w+) \|", text)
    assert shown == rows


def test_the_picture_in_the_readme_is_what_discreet_computes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import draw_risk; print(draw_risk.draw(), end='')"],
        cwd=ROOT / "scripts", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs" / "risk.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["ground", "permutation", "choosing", "storing", "scale", "inspecting", "studio"]
)
def test_the_benchmarks_run(tmp_path: Path, name: str) -> None:
    """Their figures are not judged here: a test must not depend on how busy a machine is."""
    script = ROOT / "benchmarks" / f"{name}.py"
    target = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(script), "--quick", "--json", str(target)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(target.read_text())
    assert all(row["ratio"] > 0 for row in rows if "ratio" in row)
