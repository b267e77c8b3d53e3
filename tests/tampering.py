"""Forgeries: a release of every method with one thing changed, and the manifest sealed anew.

``python tests/tampering.py`` prints how many of them an audit passes, by what was changed.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

import discreet as dc
from discreet.publishing.method import Method
from samples import reseal

CASES: dict[str, Method] = {
    "generalization": dc.Generalization(dc.FrequencyDiversity(2)),
    "generalization, dealt": dc.Generalization(dc.Proximity(1, 2)),
    "republication": dc.Republication(dc.MInvariance(2)),
    "invariant-angelization": dc.InvariantAngelization(dc.MInvariance(2), k=4),
    "full-domain": dc.FullDomain(dc.KAnonymity(3)),
    "angelization": dc.Angelization(
        dc.FrequencyDiversity(2), k=3, marginals=[["age", "sex"], ["sex", "region"]]
    ),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(2)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "slicing, blurred": dc.Slicing(dc.FrequencyDiversity(2), frequency=3),
    "slicing, at random": dc.Slicing(dc.FrequencyDiversity(2), buckets=6),
    "slicing, shared": dc.Slicing(
        dc.FrequencyDiversity(2), columns=[["age", "sex"], ["sex", "region", "note"], ["income"]]
    ),
    "sequential": dc.Sequential(dc.KAnonymity(3)),
    "permutation": dc.Permutation(dc.KE(3, 2)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}
WORDS = {
    "role": ["quasi-identifier", "sensitive", "other"],
    "transformation": ["exact", "interval", "set", "batched", "sliced", "permuted"],
    "missing": ["reject", "value", "drop"],
    "form": ["generalized", "batched", "sliced", "permuted", "swapped", "perturbed"],
    "method": list(dict.fromkeys(method.title for method in CASES.values())),
    "categories": ["set", "ancestor"],
    "dealing": ["local", "round-robin"],
    "check": ["safe", "paper"],
    "batches": ["direct", "mondrian"],
    "objective": ["sum", "min"],
    "gain": ["distortion", "discernibility"],
}
"""What is likely to be read where a word of these stood."""
SEALS = {"hash", "bytes", "path"}
"""What a forger puts right."""
HARMLESS = {
    "discreet.parameters.categories": "what sets were chosen by; the labels say what they hold",
    "discreet.parameters.dealing": "how people were dealt; the groups show who is with whom",
    "discreet.parameters.gain": "what steps were chosen by; the cut shows where they led",
    "discreet.parameters.objective": "what groups were chosen by; they are shown",
    "discreet.parameters.batches": "how batches were chosen; they are shown",
    "discreet.parameters.retention": "a little more or less, which chance gives as well",
    "cell of domains.value": "two values exchange numbers, and every label holds both or none",
    "cell of domains.number": "the same",
    "cell of sliced.bucket": "some parting of the people shows these buckets, too",
    "cell of perturbed.income": "a number that may have been drawn",
}
"""What may pass, and why: nothing that could be believed of anybody becomes less than it is."""
Place = tuple[str | int, ...]


def make_people(case: str, n: int) -> dc.Microdata:
    """People with a kept column, where the form has room for one."""
    frame = dc.datasets.census_frame(n, seed=1).select("age", "sex", "region", "income")
    keep = [] if CASES[case].form == "batched" else ["note"]
    frame = frame.with_columns(note=pl.Series([f"n{i * 7 % 11}" for i in range(n)]))
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age", "sex", "region"], sensitive=["income"], keep=keep
    )
    return dc.read(frame, schema)


def list_places(value: Any, place: Place = ()) -> Iterator[Place]:
    """List every field of a manifest that is no object; of lists of plain values, the list too."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in SEALS:
                yield from list_places(part, (*place, key))
        return
    if isinstance(value, list):
        yield place
        for number, part in enumerate(value[:4]):
            yield from list_places(part, (*place, number))
        return
    yield place


def change_value(place: Place, value: Any, rng: random.Random) -> Any:
    """Give something else that may be read in a field."""
    key = next((step for step in reversed(place) if isinstance(step, str)), "")
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 3])
    if isinstance(value, float):
        return round(value * rng.choice([0.5, 0.9, 1.5]), 6)
    if value is None:
        return rng.choice([1, "x"])
    if isinstance(value, list):
        return value[1:] if len(value) > 1 else []
    if key in WORDS:
        return rng.choice([word for word in WORDS[key] if word != value])
    if value.lstrip("-").isdigit():
        return str(int(value) + rng.choice([-1, 1, 10]))
    return f"{value} Nothing else can be learned." if " " in value else f"{value}x"


def change_manifest(folder: Path, place: Place, rng: random.Random) -> None:
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    there = manifest
    for step in place[:-1]:
        there = there[step]
    there[place[-1]] = change_value(place, there[place[-1]], rng)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def change_cells(folder: Path, title: str, column: str, rng: random.Random) -> None:
    """Put another value of the column into a cell, or exchange two that differ."""
    path = folder / f"{title}.csv"
    table = pl.read_csv(path, infer_schema=False)
    cells = table[column].to_list()
    i = rng.randrange(len(cells))
    others = [j for j, cell in enumerate(cells) if cell != cells[i]]
    if not others:
        return
    j = rng.choice(others)
    if rng.random() < 0.5:
        cells[i] = cells[j]
    else:
        cells[i], cells[j] = cells[j], cells[i]
    table.with_columns(pl.Series(column, cells, dtype=pl.String)).write_csv(path)


def examine(folder: Path, data: dc.Microdata) -> str:
    """Say what becomes of a forgery: refused, found, noted or silent."""
    try:
        report = dc.audit(folder, data)
    except dc.DiscreetError:
        return "refused"
    except Exception:  # an error that is none of ours is a fault of its own
        return "fault"
    if not report.kept:
        return "found"
    return "noted" if report.notes else "silent"


def forge(
    case: str, place: Path, cells: int = 40, *, fields: int | None = None, people: int = 120
) -> Iterator[tuple[str, str]]:
    """Try forgeries of one release: what was changed, and what becomes of it."""
    rng, data = random.Random(1), make_people(case, people)
    good = dc.publish(data, CASES[case]).write(place / "good", format="csv")
    assert dc.audit(good, data).kept, dc.audit(good, data).problems
    manifest = json.loads((good / "datapackage.json").read_text(encoding="utf-8"))
    places = list(list_places(manifest))
    changes: list[tuple[str, Callable[[Path], None]]] = [
        (name_place(p, manifest), lambda f, p=p: change_manifest(f, p, rng))
        for p in (places if fields is None else rng.sample(places, min(fields, len(places))))
    ]
    columns = [(r["name"], c["name"]) for r in manifest["resources"] for c in r["schema"]["fields"]]
    for _ in range(cells):
        title, column = rng.choice(columns)
        changes.append((f"cell of {title}.{column}",
                        lambda f, t=title, c=column: change_cells(f, t, c, rng)))  # fmt: skip
    for what, change in changes:
        folder = place / "forged"
        shutil.copytree(good, folder)
        change(folder)
        before = [(p.name, p.read_bytes()) for p in sorted(good.glob("*.csv"))]
        after = [(p.name, p.read_bytes()) for p in sorted(folder.glob("*.csv"))]
        reseal(folder)
        same = (
            before == after
            and json.loads((folder / "datapackage.json").read_text(encoding="utf-8")) == manifest
        )
        if not same:
            yield what, examine(folder, data)
        shutil.rmtree(folder)


def name_place(place: Place, manifest: Any) -> str:
    """Name a field without numbers, but for attributes and tables by name."""
    steps, there = [], copy.copy(manifest)
    for step in place:
        there = there[step]
        if isinstance(step, str):
            steps.append(step)
        elif isinstance(there, dict) and "role" in there:
            steps.append(f"<{there['role']}>")
    return ".".join(steps)


if __name__ == "__main__":
    total: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for case in sys.argv[1:] or CASES:
        found: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for what, became in forge(case, Path(folder)):
                found[became] += 1
                if became not in ("found", "refused"):
                    passed[f"{became}: {what}"] += 1
        print(case, dict(found), flush=True)
        total += found
    print(dict(total), f"silent: {total['silent'] / total.total():.1%}")
    for what, count in sorted(passed.items()):
        print(f"{count:4} {what}")
