"""Ledgers of tables that change: what an attack found."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError, PromiseError


def read(frame: pl.DataFrame, known: str, told: str = "pay") -> dc.Microdata:
    schema = dc.Schema.infer(
        frame.select("pid", known, told), quasi_identifiers=[known], sensitive=[told],
        identifiers=["pid"],
    )  # fmt: skip
    return dc.read(frame, schema, person="pid")


def read_rows(*rows: tuple[str, int, str]) -> dc.Microdata:
    return read(pl.DataFrame(rows, schema=["pid", "age", "ill"], orient="row"), "age", "ill")


def test_no_estimate_excuses_what_bounds_do_not_exclude(tmp_path: Path) -> None:
    """The two of Bonn have one 20 between them by the first release, and club x has two of three:
    the third has one for sure. Worlds are too many to be counted, and the second release promises
    nothing of values; that it breaks what the first promised by itself excuses no more than that.
    """
    n, values = 450, [10, 20, 30, 40, 50, 60]
    people = pl.DataFrame({
        "pid": [f"p{i}" for i in range(n)],
        "town": ["Jena", "Bonn", "Bonn", *["Jena"] * (n - 3)],
        "club": [*"xxx", *"y" * (n - 3)],
        "pay": [20, 10, 20, *(values[i % 6] for i in range(n - 3))],
    })  # fmt: skip
    first = read(people, "town")
    made = dc.publish(first, dc.Anatomy(dc.FrequencyDiversity(3)), insecure_seed=0)
    batches = made.tables["generalized"].filter(pl.col("town") == "Bonn")["batch"]
    assert batches.n_unique() == 1
    ledger = dc.Ledger.init(tmp_path / "book", "people")
    ledger.publish(made, first, tmp_path / "first", insecure=True)
    later = read(people, "club")
    release = dc.publish(later, dc.Generalization(dc.KAnonymity(3)))
    known = ledger.read(people, later.schema)
    with pytest.raises(PromiseError, match="too many to be counted"):
        ledger.publish(release, known, tmp_path / "later")
    assert any("may fail for" in note for note in dc.audit(release, known, earlier=[made]).notes)


def test_keys_some_of_which_are_written_otherwise_are_refused(tmp_path: Path) -> None:
    """A spreadsheet took the zeros away: 01 did not leave, and 1 is nobody new."""
    method, ledger = dc.Republication(dc.MInvariance(2)), dc.Ledger.init(tmp_path / "book", "x")
    first = read_rows(("01", 20, "flu"), ("02", 21, "gout"), ("10", 40, "flu"), ("11", 41, "gout"))
    ledger.publish(dc.publish(first, method), first, tmp_path / "1", signed=method.sign(first))
    later = read_rows(("1", 20, "flu"), ("7", 21, "ulcer"), ("10", 40, "flu"), ("11", 41, "gout"))
    with pytest.raises(MicrodataError, match=r"1 people of this table.*zeros in front"):
        ledger.check(dc.publish(later, method), later, method.sign(later))


def test_whoever_has_an_older_value_again_has_its_signature_again(tmp_path: Path) -> None:
    ledger, signatures = dc.Ledger.init(tmp_path / "book", "x"), []
    for number, rows in enumerate((
        [("ann", 20, "flu"), ("bob", 21, "gout")],
        [("ann", 20, "ulcer"), ("eve", 22, "cold")],
        [("ann", 20, "flu"), ("fay", 23, "asthma")],
    )):  # fmt: skip
        data = read_rows(*rows)
        method = ledger.prepare(dc.Republication(dc.MInvariance(2)), data)
        signed = method.sign(data)
        assert signed is not None
        ledger.publish(dc.publish(data, method), data, tmp_path / f"{number}", signed=signed)
        signatures.append(signed.of("ann"))
    assert signatures == [("flu", "gout"), ("cold", "ulcer"), ("flu", "gout")]


def test_crowds_that_are_not_counted_over_releases_are_noted(tmp_path: Path) -> None:
    """In an angelization several records may be somebody's, in batches of their own."""
    ledger = dc.Ledger.init(tmp_path / "book", "x")
    two = [dc.Republication(dc.MInvariance(2)), dc.InvariantAngelization(dc.MInvariance(2), k=2)]
    rows = [(f"p{i}", 20 + i, "flu" if i % 2 else "gout") for i in range(8)]
    notes: list[str] = []
    for number, (method, some) in enumerate(zip(two, (rows[:6], rows), strict=True)):
        data = read_rows(*some)
        prepared = ledger.prepare(method, data)
        release = dc.publish(data, prepared)
        _, notes = ledger.publish(release, data, tmp_path / f"{number}", signed=prepared.sign(data))
    assert any("how many records may still be somebody's" in note for note in notes)


def test_texts_that_hold_what_stands_between_texts_are_told_apart(tmp_path: Path) -> None:
    """A look that changed must not pass for the same look."""
    ledger = dc.Ledger.init(tmp_path / "book", "x")

    def read_looks(*looks: tuple[str, str]) -> dc.Microdata:
        frame = pl.DataFrame({"pid": ["a", "b"], "x": [x for x, _ in looks],
                              "y": [y for _, y in looks], "pay": [1, 2]})  # fmt: skip
        schema = dc.Schema.infer(frame, quasi_identifiers=["x", "y"], sensitive=["pay"],
                                 identifiers=["pid"])  # fmt: skip
        return dc.read(frame, schema, person="pid")

    method = dc.Generalization(dc.FrequencyDiversity(2))
    for number, looks in enumerate(([("u\0v", "w"), ("z", "z")], [("u", "v\0w"), ("z", "z")])):
        data = read_looks(*looks)
        _, notes = ledger.publish(dc.publish(data, method), data, tmp_path / f"{number}")
    assert "since 0001, 0 people joined, 0 left and 1 changed" in notes
