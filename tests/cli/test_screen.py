"""What is shown on a screen."""

from __future__ import annotations

import pytest

from discreet.cli.screen import LONG, make_table, show


def test_a_long_table_is_printed_whole_a_row_a_line_however_narrow_the_screen_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = make_table("place", "what")
    for row in range(20_000):
        table.add_row(f"\x1b[31m{row}", "people who\nlive there")
    show(table)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20_001 > LONG
    assert lines[0].split() == ["place", "what"]
    assert lines[-1] == r"\u001b[31m19999   people who\nlive there"


def test_columns_of_a_long_table_begin_below_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = make_table("a", "b")
    for row in range(LONG):
        table.add_row("東京" if row == 0 else "x", "y")
    show(table)
    assert capsys.readouterr().out.splitlines()[:3] == ["a      b", "東京   y", "x      y"]
