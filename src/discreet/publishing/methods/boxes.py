"""Boxes: the extent of each group on each quasi-identifier, as labels and as numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.groups import Groups
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.hierarchies import Run
from discreet.publishing.partitioners.mondrian import Categories
from discreet.release import Recoding, Transformation
from discreet.table.arrays import Ints
from discreet.table.domain import MISSING, Domain
from discreet.table.microdata import Microdata, representatives, row_ids

Cut = tuple[Sequence[Run], Ints]
"""Runs of codes that do not overlap, and the number of everyone's run; every run is somebody's."""
ShownBoxes = tuple[Partition, pl.DataFrame, dict[str, Recoding]]
"""Classes of people who show the same, one row of labels for each, and what these mean."""
ANY = "*"
LONGEST_SET = 12
"""A set of more values is labelled by its first and last; the release lists them all."""


def blur(
    data: Microdata,
    partition: Partition,
    names: list[str],
    categories: Categories,
    known: dict[str, Recoding] | None = None,
) -> tuple[pl.DataFrame, dict[str, Recoding]]:
    """Give one row per group with the extents of the named attributes, and how to read them.

    Labels ``known`` from another table of the same release keep their meaning.
    """
    columns: dict[str, pl.Series] = {}
    recodings: dict[str, Recoding] = {}
    for name in names:
        domain, codes = data.domains[name], data.codes[name][partition.order]
        labels = dict(known[name].labels) if known and name in known else {}
        if categories == "ancestor" and domain.taxonomy is not None:
            made, recodings[name] = _blur_to_ancestor(domain, codes, partition, labels)
        elif domain.attribute.type.ordered:
            made, recodings[name] = _blur_to_interval(domain, codes, partition)
        else:
            made, recodings[name] = _blur_to_set(domain, codes, partition, labels)
        for column, series in zip(recodings[name].columns(name), made, strict=True):
            taken = {other.casefold() for other in (*data.codes, *columns) if other != name}
            if column.casefold() in taken:
                raise SchemaError(
                    f"Column {column!r} has a name that the release needs for {name!r}.",
                    hint="Rename the column.",
                )
            columns[column] = series.alias(column)
    return pl.DataFrame(list(columns.values())), recodings


def show_cuts(data: Microdata, cuts: Mapping[str, Cut]) -> ShownBoxes:
    """Show everybody of a run its name, whichever of its values are in a class.

    Ordered attributes without a taxonomy show the interval of a run's values.
    """
    frames: list[pl.DataFrame] = []
    recodings: dict[str, Recoding] = {}
    for name, (runs, number) in cuts.items():
        domain = data.domains[name]
        if domain.attribute.type.ordered and domain.taxonomy is None:
            cells, how = blur(data, Partition.from_labels(number), [name], "set")
            frames.append(cells[number])
            recodings |= how
            continue
        labels: dict[str, list[str]] = {}
        for low, high, label in runs:
            text = ANY if high - low + 1 == domain.size > 1 else str(label)
            labels[free_label(text, labels)] = list(domain.texts[low : high + 1])
        texts = pl.Series(name, list(labels), dtype=pl.Enum(list(labels)))
        frames.append(pl.DataFrame({name: texts.gather(number)}))
        recodings[name] = _recode_to_sets(domain, labels)
    key = row_ids([number for _, number in cuts.values()], data.n)
    boxes = pl.concat([cells[representatives(key)] for cells in frames], how="horizontal")
    return Partition.from_labels(key), boxes, recodings


def _extent(
    codes: NDArray[np.int32], partition: Partition
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    starts = partition.offsets[:-1]
    return np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)


def _blur_to_interval(
    domain: Domain, codes: NDArray[np.int32], partition: Partition
) -> tuple[list[pl.Series], Recoding]:
    low, high = _extent(codes, partition)
    absent = np.zeros(partition.count, dtype=bool)
    if domain.missing:
        missing = domain.size - 1
        absent = high == missing
        known = np.where(codes == missing, -1, codes)
        high = np.maximum.reduceat(known, partition.offsets[:-1])
    only_missing = high < 0
    pairs = low.astype(np.int64) * domain.size + np.where(only_missing, low, high)
    distinct, which = np.unique(pairs * 2 + absent, return_inverse=True)
    texts: dict[str, None] = {}
    for p in distinct.tolist():
        label = _write_interval(domain, p // 2 // domain.size, p // 2 % domain.size, bool(p % 2))
        texts[free_label(label, texts)] = None
    values = domain.series()
    ends = [values.gather(np.where(only_missing, domain.size - 1, e)) for e in (low, high)]
    labels = pl.Series(list(texts), dtype=pl.Enum(list(texts))).gather(which)
    recoding = Recoding(
        Transformation.INTERVAL,
        domain=[domain.texts[0], domain.texts[len(domain.values) - 1]],
        missing=domain.missing,
    )
    flags = [pl.Series(absent)] if domain.missing else []
    return [labels, *ends, *flags], recoding


def _write_interval(domain: Domain, low: int, high: int, absent: bool) -> str:
    if low == domain.size - 1 and domain.missing:
        return MISSING
    known = len(domain.values) - 1
    if (low, high, absent) == (0, known, domain.missing) and domain.size > 1:
        return ANY
    text = domain.texts[low] if low == high else f"[{domain.texts[low]}, {domain.texts[high]}]"
    return f"{text} or {MISSING}" if absent else text


def _blur_to_set(
    domain: Domain,
    codes: NDArray[np.int32],
    partition: Partition,
    labels: dict[str, list[str]],
) -> tuple[list[pl.Series], Recoding]:
    which, sets = _find_sets(domain, codes, partition)
    named = [(_write_set(domain, members), [domain.texts[c] for c in members]) for members in sets]
    return _label_sets(domain, named, labels, which)


def _label_sets(
    domain: Domain,
    named: Iterable[tuple[str, list[str]]],
    labels: dict[str, list[str]],
    which: Ints,
) -> tuple[list[pl.Series], Recoding]:
    """Show sets by their names, or by what ``labels`` calls them already; new ones join these."""
    label_of = {tuple(members): label for label, members in labels.items()}
    shown = []
    for name, members in named:
        key = tuple(members)
        if key not in label_of:
            label_of[key] = free_label(name, labels)
            labels[label_of[key]] = members
        shown.append(label_of[key])
    texts = pl.Series(shown, dtype=pl.Enum(list(labels)))
    return [texts.gather(which)], _recode_to_sets(domain, labels)


def _recode_to_sets(domain: Domain, labels: dict[str, list[str]]) -> Recoding:
    return Recoding(Transformation.SET, labels, list(domain.texts), domain.missing)


def free_label(label: str, taken: Container[str]) -> str:
    """Number a label that stands for something else already."""
    free, copy = label, 1
    while free in taken:
        copy += 1
        free = f"{label} ({copy})"
    return free


def _find_sets(
    domain: Domain, codes: NDArray[np.int32], partition: Partition
) -> tuple[Ints, list[list[int]]]:
    """Number the distinct sets of codes; give each group's number and each set's codes."""
    if domain.size <= 63:
        bits = np.int64(1) << codes.astype(np.int64)
        masks = np.bitwise_or.reduceat(bits, partition.offsets[:-1])
        distinct, which = np.unique(masks, return_inverse=True)
        rows, members = np.nonzero(distinct[:, None] >> np.arange(domain.size) & 1)
        ends = np.searchsorted(rows, np.arange(1, len(distinct)))
        return which, [part.tolist() for part in np.split(members, ends)]
    groups = Groups.from_labels(partition.sorted_labels, codes, domain, count=partition.count)
    bags = [
        groups.codes[start:end].tobytes()
        for start, end in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
    ]
    numbers = {bag: number for number, bag in enumerate(sorted(set(bags)))}
    sets = [np.frombuffer(bag, dtype=np.int32).tolist() for bag in numbers]
    return np.array([numbers[bag] for bag in bags]), sets


def _write_set(domain: Domain, members: list[int]) -> str:
    if len(members) == 1:
        return domain.texts[members[0]]
    if len(members) == domain.size:
        return ANY
    if domain.taxonomy is not None and members[-1] < len(domain.values):
        name = domain.taxonomy.cover(members)
        if name is not None and name not in domain.texts:
            return name
    if len(members) > LONGEST_SET:
        first, last = domain.texts[members[0]], domain.texts[members[-1]]
        return f"{{{first}, …, {last}: {len(members)} values}}"
    return "{" + ", ".join(domain.texts[code] for code in members) + "}"


def _blur_to_ancestor(
    domain: Domain,
    codes: NDArray[np.int32],
    partition: Partition,
    labels: dict[str, list[str]],
) -> tuple[list[pl.Series], Recoding]:
    """Publish lowest common ancestors; a label stands for all leaves below its node."""
    tree = domain.taxonomy
    assert tree is not None
    low, high = _extent(codes, partition)
    pairs, which = np.unique(low.astype(np.int64) * domain.size + high, return_inverse=True)
    named = []
    for pair in pairs.tolist():
        first, last = divmod(pair, domain.size)
        if first == last:
            named.append((domain.texts[first], [domain.texts[first]]))
        elif last >= len(tree.leaves):  # with missing, nothing short of everything covers it
            named.append((ANY, list(domain.texts)))
        else:
            node = tree.ancestor(first, last)
            name = ANY if node.parent < 0 else node.name
            named.append((name, domain.texts[node.low : node.high]))
    return _label_sets(domain, named, labels, which)
