"""Chronicle: the releases of a ledger one after the other, and what all so far leave possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.files import write_text
from discreet.steward.ledger.book import Entry
from discreet.steward.ledger.checking import Held, open_rolls
from discreet.steward.ledger.people import Attendances
from discreet.table.facts import Progress


@dataclass(frozen=True)
class Chapter:
    """One release, and where people stand after it."""

    entry: Entry
    people: int
    counterfeits: int
    """Records of nobody."""
    joined: int | None = None
    left: int | None = None
    changed: int | None = None
    """Since the release before; ``None`` where no key says who is who."""
    returned: int | None = None
    """Who joined, and was in an older one."""
    stayed: tuple[int, ...] = ()
    """Of every earlier release, the oldest first, how many of its people are in this one."""
    worst: Fraction | None = None
    """What is believed of somebody's value at the most, from all releases so far."""
    certain: int | None = None
    """People one of whose values is certain."""
    estimated: int = 0
    """People of whom it is estimated: worlds are too many to be counted."""
    unknown: str | None = None
    """Why it is not known what all releases leave possible."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values, for ``--json``."""
        entry = self.entry
        known = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "entry"}
        known["worst"] = None if self.worst is None else float(self.worst)
        return {"release": entry.name, "made": entry.made, "method": entry.method,
                "promise": entry.promise, "state": entry.state, **known}  # fmt: skip


def tell_chronicle(
    held: Sequence[tuple[Entry, Held]], progress: Progress = lambda *_: None
) -> list[Chapter]:
    """Tell of releases, the oldest first, who is in each and what all so far leave possible."""
    chapters = []
    for i, (entry, _) in enumerate(held):
        progress("Putting releases together", i, len(held))
        chapters.append(_tell(entry, [one for _, one in held[: i + 1]]))
    return chapters


def _tell(entry: Entry, held: Sequence[Held]) -> Chapter:
    release, people = held[-1].release, held[-1].people
    shown = release.views[0]
    fakes = shown.nobodys
    if people is None:
        why = "no key says who is in it"
        return Chapter(entry, int(shown.people.sum()), fakes, unknown=why)
    attended = Attendances([one.people for one in held if one.people is not None])
    last = len(attended.held) - 1
    moves: dict[str, Any] = {}
    if last:
        joined, left, changed = attended.count_moves(last - 1, last)
        before = np.concatenate(attended.numbers[:last])
        new = np.setdiff1d(attended.numbers[last], attended.numbers[last - 1])
        moves = {"joined": joined, "left": left, "changed": changed,
                 "returned": int(np.isin(new, before).sum())}  # fmt: skip
    stayed = tuple(len(np.intersect1d(one, attended.numbers[last]))
                   for one in attended.numbers[:last])  # fmt: skip
    lacking = [one.name for one in held if one.people is None]
    beliefs = {"unknown": f"no key says who is in {', '.join(lacking)}"} if lacking else (
        _believe(held, attended))  # fmt: skip
    return Chapter(entry, people.people, fakes, stayed=stayed, **moves, **beliefs)


def _believe(held: Sequence[Held], attended: Attendances) -> dict[str, Any]:
    """Say what is believed at the most, from all releases; or why nobody knows."""
    from discreet.auditing.together import Together
    from discreet.auditing.worlds import NoWorldError
    from discreet.forms.posterior import find_largest

    # the newest first, as whoever puts it together with the others has them
    releases, rolls = open_rolls([*held[-1:], *held[:-1]], attended)
    together = Together(releases, rolls)
    every = range(len(releases))
    worst, certain, estimated = Fraction(0), set[int](), set[int]()
    for name in dict.fromkeys(n for _, made in releases for n in made.schema.sensitive):
        telling = together.list_telling(every, name)
        if obstacle := together.find_obstacle(every, name):
            return {"unknown": obstacle}
        try:
            told, person = together.tell(telling, name)
        except NoWorldError:
            return {"unknown": f"by {name}, they cannot be of the same people"}
        worst = max(worst, find_largest(told.bags.largest, told.bags.sizes))
        sure = told.bags.largest == told.bags.sizes
        certain |= set(person[sure[told.kind_of]].tolist())
        estimated |= set(person[~told.counted[told.kind_of]].tolist())
    return {"worst": worst, "certain": len(certain), "estimated": len(estimated)}


def write_chronicle(path: Path, source: str, chapters: Sequence[Chapter]) -> Path:
    """Draw the chronicle on a page."""
    return write_text(path, render_chronicle(source, chapters))


def render_chronicle(source: str, chapters: Sequence[Chapter], *, whole: bool = True) -> str:
    """Draw it as a whole page, or as what another one may hold."""
    from discreet.pages import render_page

    most = max((c.people + c.counterfeits + (c.left or 0) for c in chapters), default=1)
    template = "chronicle.html" if whole else "chronicle_parts.html"
    return render_page(template, source=source, chapters=chapters, most=max(most, 1), whole=whole)
