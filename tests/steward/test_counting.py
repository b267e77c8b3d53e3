"""How often a publication reads what it has read already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.auditing import composition
from discreet.cli import main
from discreet.forms import disclosure, list_forms
from discreet.release import store
from discreet.steward.ledger import Ledger
from samples import microdata


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What is read, and how often."""
    counted: Counter[str] = Counter()

    def count(home: object, name: str, label: Callable[..., str]) -> None:
        real = getattr(home, name)

        def counting(*args: Any, **options: Any) -> Any:
            counted[label(*args)] += 1
            return real(*args, **options)

        monkeypatch.setattr(home, name, counting)

    count(store, "understand", lambda *_: "manifest")
    count(store, "_read_table", lambda _, stored: f"table {stored.path}")
    for form in list_forms().values():
        count(type(form), "views", lambda *_: "views")
    count(composition, "disclose", lambda release, *_: f"disclosed {release.method}")
    count(disclosure, "read", lambda *_: "microdata")
    return counted


def run(*words: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["discreet", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code in (0, 1), words


def test_a_publication_reads_what_it_wrote_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Counter[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dc.datasets.adult(sensitive="occupation").head(300).to_polars().write_csv("adult.csv")
    run("inspect", "adult.csv", "--plan", "plan.toml")
    run("publish", "plan.toml", "--out", "out", "--report", "page.html")
    assert reads["manifest"] == 1
    assert {what: times for what, times in reads.items() if what.startswith("table")} == {
        "table generalized.parquet": 1
    }
    assert reads["views"] == 1


def test_composition_reads_earlier_releases_once_however_much_is_tried(
    tmp_path: Path, reads: Counter[str]
) -> None:
    rows = [(a, b, c, "xyz"[(a + b + c) % 3]) for a in range(4) for b in range(3) for c in range(3)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "s"], orient="row")
    data = microdata(frame, ["a", "b", "c"], ["s"])
    promise = dc.FrequencyDiversity(2)
    ledger = Ledger.init(tmp_path / "book", "people")
    ledger.publish(dc.publish(data, dc.Anatomy(promise), seed=1), data, tmp_path / "one")
    reads.clear()
    new = dc.Generalization(dc.FrequencyDiversity(2))
    release = dc.publish(data, new)
    broken, _ = ledger.check(release, data)
    assert broken
    ledger.propose(data, new, broken, known=data)
    assert reads["disclosed generalization"] > 3  # the new one, as often as it is tried
    assert reads["disclosed anatomy"] == 2  # by the check, and by all trials
    assert reads["manifest"] == 1
