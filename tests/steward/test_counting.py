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
from discreet.table import microdata
from discreet.table.readers import TableFile
from samples import microdata as make_microdata


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

    count(store, "read_manifest", lambda *_: "manifest")
    count(store, "understand", lambda *_: "understood")
    count(store, "read_table", lambda folder, stored: f"table {stored.paths[0]} {folder.name}")
    for room in (microdata, disclosure):
        count(
            room,
            "read_table",
            lambda source, *_: "source" if isinstance(source, Path | TableFile) else "",
        )
    for form in list_forms().values():
        count(type(form), "views", lambda *_: "views")
    count(composition, "disclose", lambda release, *_: f"disclosed {release.method}")
    return counted


def run(*words: str, code: int = 0) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["discreet", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == code, words


def of_tables(reads: Counter[str]) -> list[int]:
    return [times for what, times in reads.items() if what.startswith("table")]


def test_a_publication_reads_what_it_wrote_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Counter[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dc.datasets.adult(sensitive="occupation").head(300).to_polars().write_csv("adult.csv")
    run("inspect", "adult.csv", "--plan", "plan.toml")
    reads.clear()
    run("publish", "plan.toml", "--out", "out", "--report", "page.html")
    assert (reads["source"], reads["manifest"], reads["understood"], reads["views"]) == (1, 1, 1, 1)
    assert of_tables(reads) == [1, 1, 1]  # the table, and the two that say what labels stand for


PLAN = """
[source]
file = "people.csv"
[columns.a]
role = "quasi-identifier"
[columns.b]
role = "quasi-identifier"
[columns.s]
role = "sensitive"
[method]
name = "{method}"
[[method.principles]]
name = "frequency-diversity"
l = 2
[release]
folder = "{method}"
"""


def test_a_ledger_reads_the_table_and_every_earlier_release_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Counter[str]
) -> None:
    """The table twice: as it is published, and with all that earlier releases show of it."""
    monkeypatch.chdir(tmp_path)
    rows = [(a, b, "xyz"[(a + b) % 3]) for a in range(6) for b in range(4)]
    pl.DataFrame(rows, schema=["a", "b", "s"], orient="row").write_csv("people.csv")
    for method in ("anatomy", "generalization"):
        Path(f"{method}.toml").write_text(PLAN.format(method=method))
    run("ledger", "init", "book", "--source", "people")
    reads.clear()
    run("publish", "anatomy.toml", "--ledger", "book")
    assert (reads["source"], reads["manifest"], reads["views"]) == (2, 1, 1)
    reads.clear()
    run("publish", "generalization.toml", "--ledger", "book", code=1)
    assert not Path("generalization").exists()
    assert reads["source"] == 2
    assert reads["disclosed generalization"] > 2  # refused, and tried with less
    assert reads["disclosed anatomy"] == 2
    assert reads["manifest"] == 1  # of the earlier one; what is refused is not written
    assert set(of_tables(reads)) == {1}


def test_composition_reads_earlier_releases_once_however_much_is_tried(
    tmp_path: Path, reads: Counter[str]
) -> None:
    rows = [(a, b, c, "xyz"[(a + b + c) % 3]) for a in range(4) for b in range(3) for c in range(3)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "s"], orient="row")
    data = make_microdata(frame, ["a", "b", "c"], ["s"])
    promise = dc.FrequencyDiversity(2)
    ledger = Ledger.init(tmp_path / "book", "people")
    # batches are drawn, and not every draw tells so much
    first = dc.publish(data, dc.Anatomy(promise), insecure_seed=1)
    ledger.publish(first, data, tmp_path / "one", insecure=True)
    reads.clear()
    new = dc.Generalization(dc.FrequencyDiversity(2))
    release = dc.publish(data, new)
    broken, _ = ledger.check(release, data)
    assert broken
    ledger.propose(data, new, broken, known=data)
    assert reads["disclosed generalization"] > 3  # the new one, as often as it is tried
    assert reads["disclosed anatomy"] == 2  # by the check, and by all trials
    assert reads["manifest"] == 1
