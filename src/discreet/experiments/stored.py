"""Stored runs: what every experiment found when it last ran in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

from discreet.experiments.claims import Claim
from discreet.experiments.outcome import Outcome, Settings
from discreet.files import write_text

RESULTS = files("discreet.experiments") / "results"
DIGITS = 6
"""So many digits of every figure are stored; of what verdicts are found from, all."""


@dataclass(frozen=True)
class StoredRun:
    """An outcome as it was stored, with how it came about."""

    experiment: str
    shows: str
    data: str
    claims: tuple[Claim, ...]
    version: str
    file: str | None
    """The name of the file it ran on, if not on embedded data."""
    minutes: int
    """How long it took, rounded up."""
    told: dict[str, Any]
    """All that is stored."""

    @staticmethod
    def of(told: dict[str, Any]) -> StoredRun:
        """Take what was stored; verdicts are found anew."""
        claims = tuple(map(Claim.from_dict, told["claims"]))
        return StoredRun(told["experiment"], told["shows"], told["data"], claims, told["version"],
                         told["settings"]["file"], told["minutes"], told)  # fmt: skip

    @property
    def figure(self) -> str:
        """Which figure or table it is."""
        return self.shows.partition(":")[0]


def store(outcome: Outcome, settings: Settings, seconds: float, folder: Path) -> Path:
    """Write a run into a folder, under the name of its experiment and of its file."""
    from discreet import __version__

    told = outcome.to_dict()
    told["rows"] = [{name: _shorten(x) for name, x in row.items()} for row in told["rows"]]
    told["version"] = __version__
    source = settings.source
    told["settings"] = asdict(settings) | {"file": source.name if source else None}
    del told["settings"]["source"]  # where it lies on this machine
    told["minutes"] = ceil(seconds / 60)
    name = f"{outcome.name}--{source.stem}" if source else outcome.name
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    return write_text(folder / f"{name}.json", text, shared=True)


def _shorten(cell: object) -> object:
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell


def list_runs(experiment: str | None = None) -> Iterator[StoredRun]:
    """Give the stored runs, those of one experiment or all; that on embedded data first."""
    for entry in sorted(RESULTS.iterdir(), key=lambda entry: entry.name.removesuffix(".json")):
        of = entry.name.removesuffix(".json").partition("--")[0]
        if entry.name.endswith(".json") and experiment in (None, of):
            yield StoredRun.of(json.loads(entry.read_text(encoding="utf-8")))


def find_run(experiment: str, settings: Settings) -> StoredRun | None:
    """Give the stored run on the same data, if there is one."""
    file = settings.source.name if settings.source else None
    return next((run for run in list_runs(experiment) if run.file == file), None)


__all__ = ["RESULTS", "StoredRun", "find_run", "list_runs", "store"]
