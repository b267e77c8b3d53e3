"""Comparison: is the release what it says it made of this very microdata?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.forms.batched.view import Boxes
from discreet.forms.matches import Candidates, look_up
from discreet.forms.matching import number_jointly
from discreet.forms.perturbed.view import Perturbed
from discreet.forms.sliced.view import Slices
from discreet.principles.groups import Groups
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata
from discreet.table.schema import Role

Ints = NDArray[np.int64]
LARGE = 60
"""In boxes of more people it is not tried to place everybody at once."""
MOST_PAIRS, SHUFFLES = 45, 40
"""Pairs of columns of a sliced table that are tried, each against so many shuffles of its own."""
AT_ONCE = 20_000
"""So many people are held against their groups at a time, to bound memory."""


def compare(found: Candidates, data: Microdata) -> list[str]:
    """Find where the release is not what it says it made of this very table."""
    exact = found.classes.boxes is None
    findings = _compare_exact(found, data) if exact else _compare_boxes(found, data)
    return list(dict.fromkeys([*findings, *_compare_kept(found, data)]))


def _compare_boxes(found: Candidates, data: Microdata) -> list[str]:
    """Hold the records and values of each box against the people it covers."""
    several, classes = int(found.several.sum()), found.classes
    if several and (classes.mixes or found.release.promise.principle.monotone):
        return [f"boxes overlap: {several} people are covered by more than one group"]
    covered = np.bincount(found.group_of[found.of >= 0], minlength=classes.count)
    wrong = int((covered != classes.sizes).sum()) if not several else 0
    if wrong:
        return [f"{wrong} groups have not as many records as people they cover"]
    if not classes.mixes:
        return _compare_records(found, data)
    findings = []
    for name in found.release.schema.sensitive:
        published = classes.bags(name)
        own = data.codes_in(name, published.domain)
        if not _has_counts(own, published.whole) or _is_foreign(found, own):
            findings.append(f"the published values of {name} are not those of the people")
    return findings


def _compare_records(found: Candidates, data: Microdata) -> list[str]:
    """Try to give every person a record of a group that covers them and holds their values.

    First each column that is published as it is by itself, then all of them together.
    """
    schema = found.release.schema
    names = [name for name in schema.names if name not in schema.quasi_identifiers]
    findings: list[str] = []
    for asked in [*([name] for name in names), names]:
        missed = 0 if findings and len(asked) > 1 else _count_misplaced(found, data, asked)
        if missed:
            findings.append(
                f"the published values of {', '.join(asked)} are not those of the people covered: "
                f"{missed} find no record"
            )
    return list(dict.fromkeys(findings))


def _count_misplaced(found: Candidates, data: Microdata, names: list[str]) -> int:
    """Count the people who find no record however records are given out."""
    from discreet.kernels.flow import place

    own, shown = number_jointly(found.classes, data, names)
    size = int(max(own.max(), shown.max())) + 1
    keys, room = np.unique(found.classes.labels * size + shown, return_counts=True)
    people, entries = [], []
    for first in range(0, data.n, AT_ONCE):
        place_in_list, groups = found.list_options(found.of[first : first + AT_ONCE])
        person = place_in_list + first
        wanted = groups * size + own[person]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        people.append(person[keys[at] == wanted])
        entries.append(at[keys[at] == wanted])
    starts = np.searchsorted(np.concatenate(people), np.arange(data.n + 1))
    return int(place(starts, np.concatenate(entries), room))


def _compare_exact(found: Candidates, data: Microdata) -> list[str]:
    """Hold the published people and values, as two multisets, against those of the microdata."""
    if isinstance(found.classes, Slices):
        return _compare_columns(found, data)
    findings: list[str] = []
    schema = found.release.schema
    exact = [n for n in schema.names if n not in schema.sensitive]
    for names in (schema.quasi_identifiers, exact):
        own, shown = number_jointly(found.classes, data, names)
        if not findings and not np.array_equal(np.sort(own), np.sort(shown)):
            what = "quasi-identifiers are" if names is not exact else "columns, taken together, are"
            findings.append(f"the published {what} not those of the people")
    if isinstance(found.classes, Perturbed):
        return [*findings, *_compare_retention(found, data, found.classes)]
    for name in found.release.schema.sensitive:
        bags = found.classes.bags(name)
        own = data.codes_in(name, bags.domain)
        if not _has_counts(own, bags.whole):
            findings.append(f"the published values of {name} are not those of the people")
            continue
        findings += _compare_groups(found, name, own)
    return findings


def _compare_columns(found: Candidates, data: Microdata) -> list[str]:
    """Every column by itself must hold what people have, each in a bucket of theirs, unlinked."""
    classes = found.classes
    assert isinstance(classes, Slices)
    findings, numbers = [], []
    for column in classes.columns:
        own, shown = number_jointly(classes, data, column)
        numbers.append((own, shown))
        if not np.array_equal(np.sort(own), np.sort(shown)):
            named = ", ".join(column)
            findings.append(f"the published values of {named} are not those of the people")
    if findings:
        return findings
    for name in found.release.schema.sensitive:
        missed = _count_misplaced(found, data, [name])
        if missed:
            findings.append(
                f"values of {name} are in buckets to which the people who have them do not belong: "
                f"{missed} find none"
            )
    pairs = list(combinations(range(len(numbers)), 2))
    if len(pairs) > MOST_PAIRS:  # what is sensitive against all, and neighbours
        pairs = [p for p in pairs if p[1] in (p[0] + 1, len(numbers) - 1)][-MOST_PAIRS:]
    for i, j in pairs:
        hits, expected = _count_links(classes, *numbers[i], *numbers[j])
        if hits:
            one, other = (", ".join(classes.columns[c]) for c in (i, j))
            findings.append(
                f"{hits} rows show {one} and {other} of one person; shuffled, it would be about "
                f"{expected:.0f}"
            )
    return findings


def _count_links(
    classes: Slices, own: Ints, shown: Ints, theirs: Ints, beside: Ints
) -> tuple[int, float]:
    """Count the rows whose values of two columns somebody has together, if that is too many.

    Too many is what shuffling the buckets again never comes near.
    """
    size = int(max(theirs.max(), beside.max())) + 1
    people = np.unique(own * size + theirs)

    def count(rows: Ints) -> int:
        keys = shown * size + beside[rows]
        at = np.minimum(np.searchsorted(people, keys), len(people) - 1)
        return int((people[at] == keys).sum())

    rng = np.random.default_rng(0)
    order = np.argsort(classes.bucket, kind="stable")
    chance = []
    for _ in range(SHUFFLES):
        rows = np.empty_like(order)
        rows[order] = np.lexsort((rng.random(len(order)), classes.bucket))
        chance.append(count(rows))
    hits, expected = count(np.arange(len(order))), float(np.mean(chance))
    return (hits if hits > expected + 8 * float(np.std(chance)) + 2 else 0), expected


def _compare_retention(found: Candidates, data: Microdata, classes: Perturbed) -> list[str]:
    """People show their own number, or that of somebody who looks the same, as often as was said.

    Every record counts the people who look like it and have the number it shows.
    """
    (name,) = found.release.schema.sensitive
    drawn, numbers = classes.replacement, data.domains[name].numbers
    if not drawn.count(numbers, numbers).all():
        return [f"some people's {name} is outside of what numbers were drawn from"]
    own, of = number_jointly(found.classes, data, found.release.schema.quasi_identifiers)
    values = data.domains[name].find(classes.domain.texts)[classes.labels]
    size = data.domains[name].size
    cells, counts = np.unique(own * size + data.codes[name], return_counts=True)
    at = np.minimum(np.searchsorted(cells, of * size + values), len(cells) - 1)
    there = (cells[at] == of * size + values) & (values >= 0)
    hits = int(counts[at][there].sum())
    p, people = float(drawn.retention), np.bincount(own)
    squares = np.bincount(cells // size, weights=counts.astype(float) ** 2, minlength=len(people))
    alike = counts[np.searchsorted(cells, own * size + data.codes[name])]
    mean = p * alike + (1 - p) * people[own] / drawn.size
    square = p * alike.astype(float) ** 2 + (1 - p) * squares[own] / drawn.size
    expected, spread = float(mean.sum()), float(np.sqrt((square - mean**2).sum()))
    if abs(hits - expected) > 6 * spread + 1:
        said = f"records show the {name} of somebody who looks the same {hits} times"
        return [f"{said}; with the retention it states about {expected:.0f} would be expected"]
    return []


def _compare_groups(found: Candidates, name: str, own: NDArray[np.int64]) -> list[str]:
    """Everyone must find their value in a group that may be theirs; and not in their own row."""
    _, bags = found.classes.draws(name)
    size = bags.domain.size
    alone = (found.of >= 0) & ~found.several
    there = bags.owners * size + bags.codes
    if _lack_room(found, bags, own):
        return [f"values of {name} are in groups to which the people who have them do not belong"]
    repeats = found.classes.repeats
    if repeats is None:
        return []
    unique = alone & (found.records[found.of] == 1)
    shown = found.shown_to(unique)
    column = reduce_column(found.classes.table[name], found.release.schema[name])
    published = column.encode(None)[0][shown]
    share = bags.weights[np.searchsorted(there, found.group_of[unique] * size + own[unique])]
    chance = share / bags.sizes[found.group_of[unique]]
    chance = np.minimum(chance * repeats, 1)
    hits, expected = int((published == own[unique]).sum()), float(chance.sum())
    if hits > expected + 6 * np.sqrt(float((chance * (1 - chance)).sum())) + 1e-9:
        found_here = f"{hits} people stand beside their own {name}"
        return [f"{found_here}; chance would give at most {expected:.0f}"]
    return []


def _lack_room(found: Candidates, bags: Groups, own: NDArray[np.int64]) -> bool:
    """Whether more people who look the same have a value than their records' groups can give.

    A group gives no more of a value than it has, nor than it has records of people who look so.
    """
    size, seen = bags.domain.size, found.of >= 0
    cases, theirs = np.unique(found.of[seen] * size + own[seen], return_counts=True)
    case, groups = found.list_options(cases // size)
    entries = look_up(bags, groups, (cases % size)[case])
    here = np.zeros(len(cases), dtype=np.int64)
    there = np.where(entries >= 0, bags.weights[entries], 0)
    np.add.at(here, case, np.minimum(there, found.list_records(cases // size)))
    if (here < theirs).any():
        return True
    # whoever can be in one group only uses up what it has
    alone = seen & ~found.several
    keys, theirs = np.unique(found.group_of[alone] * size + own[alone], return_counts=True)
    at = look_up(bags, keys // size, keys % size)
    return bool(((at < 0) | (bags.weights[at] < theirs)).any())


def _compare_kept(found: Candidates, data: Microdata) -> list[str]:
    """Columns published unchanged must hold what the microdata holds, and nothing else."""
    findings = []
    for attribute in found.release.schema.having(Role.OTHER):
        name = attribute.name
        codes, domain = reduce_column(found.classes.table[name], attribute).encode(None)
        counts = np.bincount(codes, minlength=domain.size)
        if not _has_counts(data.codes_in(name, domain), counts):
            findings.append(f"the published values of {name} are not those of the people")
    return findings


def _is_foreign(found: Candidates, own: NDArray[np.int64]) -> bool:
    """Whether the people of some box cannot have their values in the batches it refers to."""
    classes = found.classes
    assert isinstance(classes, Boxes)
    held = classes.held
    seen = np.flatnonzero(found.of >= 0)
    people = seen[np.argsort(found.group_of[seen], kind="stable")]
    starts = np.searchsorted(found.group_of[people], np.arange(classes.count + 1))
    box, batch, records = classes.references
    begins = np.searchsorted(box, np.arange(classes.count + 1))
    for c in range(classes.count):
        values, counts = np.unique(own[people[starts[c] : starts[c + 1]]], return_counts=True)
        here = slice(begins[c], begins[c + 1])
        room = np.zeros((len(values), begins[c + 1] - begins[c]), dtype=np.int64)
        for place, b in enumerate(batch[here]):
            entries = slice(held.offsets[b], held.offsets[b + 1])
            at = np.searchsorted(values, held.codes[entries])
            at = np.minimum(at, len(values) - 1)
            same = values[at] == held.codes[entries]
            room[at[same], place] = held.weights[entries][same]
        if not _may_fit(counts, records[here], room):
            return True
    return False


def _may_fit(people: NDArray[np.int64], need: NDArray[np.int64], room: NDArray[np.int64]) -> bool:
    """Try to place everybody; in a large box, only each value and each batch by itself."""
    from discreet.kernels.flow import fits

    if need.sum() <= LARGE:
        return bool(fits(people, need, room))
    taken = np.minimum(room, need).sum(axis=1)
    given = np.minimum(room, people[:, None]).sum(axis=0)
    return bool((people <= taken).all() and (need <= given).all())


def _has_counts(own: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Whether people's own codes are, as a multiset, what was published."""
    return bool((own >= 0).all()) and np.array_equal(
        np.bincount(own, minlength=len(counts)), counts
    )
