"""What reads text from outside in this process: for bytes that chance changes, or that are chosen.

A target is fed bytes, as a file or a question that holds them. It gives something, or raises an
error of ours; whatever else it raises is a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import discreet as dc
from discreet.analysis.formula import read_formula
from discreet.steward.inspection import inspect_table
from hostile.making import METHODS, QUESTIONS, TAXONOMIES, lay_out, make_people, write_plan

NAMES = [
    "plan", "question", "formula", "manifest", "table", "taxonomy.csv", "taxonomy.json",
    "taxonomy.txt",
]  # fmt: skip
FORMULAS = ["income ~ age + sex + region", 'Income ~ "age"']


@dataclass(frozen=True)
class Target:
    """A reader, and what is honest for it."""

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]

    def feed(self, content: bytes) -> None:
        """Have it read: what is no error of ours goes through."""
        with suppress(dc.DiscreetError):
            self.read(content)


def make_targets(folder: Path) -> dict[str, Target]:
    """Give every target, by name; their files lie in a folder."""
    plan = dc.Plan.read(lay_out(folder) / "generalization.toml")
    data = dc.read(plan.source, plan.schema)
    release = dc.publish(data, plan.method).write(folder / "release")
    manifest = release / "datapackage.json"
    loaded = dc.load(release)

    def reading(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
        path = folder / name

        def write_and_read(content: bytes) -> object:
            path.write_bytes(content)
            return read(path)

        return write_and_read

    def load(content: bytes) -> object:
        manifest.write_bytes(content)
        return dc.load(release)

    def ask(content: bytes) -> object:
        return loaded.query(content.decode("utf-8", "replace"))

    def regress(content: bytes) -> object:
        return read_formula(content.decode("utf-8", "replace"), loaded.schema)

    return {
        "plan": Target(
            reading("fed.toml", dc.Plan.read), [write_plan(name).encode() for name in METHODS]
        ),
        "question": Target(ask, [question.encode() for question in QUESTIONS]),
        "formula": Target(regress, [formula.encode() for formula in FORMULAS]),
        "manifest": Target(load, [manifest.read_bytes()]),
        "table": Target(
            reading("fed.csv", lambda path: inspect_table(path, folder)),
            [make_people(12).write_csv().encode()],
        ),
    } | {
        f"taxonomy{suffix}": Target(
            reading(f"fed{suffix}", dc.Taxonomy.read),
            [text.encode() for name, text in TAXONOMIES.items() if name.endswith(suffix)],
        )
        for suffix in (".csv", ".json", ".txt")
    }
