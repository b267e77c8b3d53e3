"""Boxes: the extent of each group on each quasi-identifier, as labels and as numbers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.forms.wording import word_presence
from discreet.principles.groups import Groups
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.hierarchies import ANY, Run
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.partitioners.regions import Region
from discreet.release import Recoding, Transformation
from discreet.release.coarse_labels import spell_interval
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.domain import MISSING, Domain
from discreet.table.microdata import Microdata, representatives, row_ids
from discreet.table.schema import Type

Cut = tuple[Sequence[Run], Ints]
"""Runs of codes that do not overlap, and the number of everyone's run; every run is somebody's."""
CodeCut = tuple[Sequence[Run], Ints]
"""The same, with the number of every code's run in place of everyone's."""
ShownBoxes = tuple[Partition, pl.DataFrame, dict[str, Recoding]]
"""Classes of people who show the same, one row of labels for each, and what these mean."""
Ends = Literal["tight", "cuts"]
"""Where boxes end: at values of their people, or at cuts, whoever is on their sides."""
INTERVAL = {"low": pl.Int64, "high": pl.Int64, "absent": pl.Boolean}
NODE = {"low": pl.Int64, "high": pl.Int64}
Show = Callable[[pl.DataFrame], tuple[list[pl.Series], Recoding]]
"""Gives what is shown of different extents, one row each, and how to read it."""
MOST_BITS = 63
"""Sets of no more codes are the bits of a whole number."""
LONGEST_SET = 12
"""A set of more values is labelled by its first and last; the release lists them all."""


def open_presence(data: CodedTable, ends: Ends) -> list[str]:
    """Say what boxes leave open about who is in the table."""
    own = [name for name in data.quasi_identifiers if not data.schema[name].has_public_domain]
    return word_presence(ends, own)


def blur(
    data: Microdata,
    partition: Partition,
    names: list[str],
    categories: Categories,
    known: dict[str, Recoding] | None = None,
    regions: Mapping[str, Region] | None = None,
    blank: Bools | None = None,
) -> tuple[pl.DataFrame, dict[str, Recoding]]:
    """Give one row per group with the extents of the named attributes, and how to read them.

    Extents are those of people, or the ``regions`` that hold them; groups that are ``blank`` show
    what all their people have, or ``*``. Labels ``known`` from another table of the same release
    keep their meaning.
    """
    columns: dict[str, pl.Series] = {}
    recodings: dict[str, Recoding] = {}
    for name in names:
        domain, codes, groups = data.domains[name], data.codes[name][partition.order], partition
        if blank is not None:
            codes, groups = _fill_blanks(domain, codes, partition, blank)
        labels = dict(known[name].labels) if known and name in known else {}
        if regions is None or not len(domain.values):
            extents = measure(domain, codes, groups, categories)
            show = partial(show_extents, domain, categories, labels)
            made, recodings[name] = _show_each(extents, show)
        else:
            made, recodings[name] = _blur_to_region(
                domain, codes, groups, regions[name], categories, labels
            )
        add_columns(columns, data, name, made, recodings[name])
    return pl.DataFrame(list(columns.values())), recodings


def _fill_blanks(
    domain: Domain, codes: NDArray[np.int32], partition: Partition, blank: Bools
) -> tuple[NDArray[np.int32], Partition]:
    """Put every value into blank groups that have several, as if somebody had each of them."""
    low, high = _extent(codes, partition)
    wide = np.flatnonzero(blank & (low != high))
    labels = np.concatenate([partition.sorted_labels, np.repeat(wide, domain.size)])
    filled = np.concatenate([codes, np.tile(np.arange(domain.size), len(wide))]).astype(np.int32)
    groups = Partition.from_labels(labels)
    return filled[groups.order], groups


def add_columns(
    columns: dict[str, pl.Series],
    data: CodedTable,
    name: str,
    made: list[pl.Series],
    recoding: Recoding,
) -> None:
    """Add what an attribute shows, unless the table has columns of these names."""
    for column, series in zip(recoding.columns(name), made, strict=True):
        taken = {other.casefold() for other in (*data.domains, *columns) if other != name}
        if column.casefold() in taken:
            raise SchemaError(
                f"Column {column!r} has a name that the release needs for {name!r}.",
                hint="Rename the column.",
            )
        columns[column] = series.alias(column)


def cut_codes(runs: Sequence[Run], run_of: Ints, counts: Ints) -> CodeCut:
    """Keep the runs that are somebody's, of codes that occur so often, and number them anew."""
    there = np.unique(run_of[counts > 0])
    number = np.minimum(np.searchsorted(there, run_of), len(there) - 1)
    return [runs[i] for i in there], number


def take_cuts(data: Microdata, cuts: Mapping[str, CodeCut]) -> dict[str, Cut]:
    """Give everybody the number of their run."""
    return {name: (runs, number[data.codes[name]]) for name, (runs, number) in cuts.items()}


def show_cuts(data: Microdata, cuts: Mapping[str, Cut]) -> ShownBoxes:
    """Show everybody of a run its name, whichever of its values are in a class."""
    shown, recodings = show_runs(data, {name: runs for name, (runs, _) in cuts.items()})
    key = row_ids([number for _, number in cuts.values()], data.n)
    first = representatives(key)
    cells = [shown[name][number[first]] for name, (_, number) in cuts.items()]
    return Partition.from_labels(key), pl.concat(cells, how="horizontal"), recodings


def show_runs(
    data: CodedTable, cuts: Mapping[str, Sequence[Run]]
) -> tuple[dict[str, pl.DataFrame], dict[str, Recoding]]:
    """Give what is shown of the runs of each attribute, a line each, and how to read it.

    Ordered attributes without a taxonomy show the interval from a run's first value to its last.
    """
    shown: dict[str, pl.DataFrame] = {}
    recodings: dict[str, Recoding] = {}
    for name, runs in cuts.items():
        domain = data.domains[name]
        if domain.attribute.type.ordered and domain.taxonomy is None:
            ends = np.array([(low, high) for low, high, _ in runs], dtype=np.int64)
            made, recodings[name] = _label_intervals(domain, ends[:, 0], ends[:, 1])
            columns: dict[str, pl.Series] = {}
            add_columns(columns, data, name, made, recodings[name])
            shown[name] = pl.DataFrame(list(columns.values()))
            continue
        labels: dict[str, list[str]] = {}
        for low, high, label in runs:
            text = ANY if high - low + 1 == domain.size > 1 else str(label)
            if text == domain.texts[low]:
                text = _write_value(domain, low)
            labels[free_label(text, labels)] = list(domain.texts[low : high + 1])
        shown[name] = pl.DataFrame({name: pl.Series(list(labels), dtype=pl.Enum(list(labels)))})
        recodings[name] = _recode_to_sets(domain, labels)
    return shown, recodings


def _extent(
    codes: NDArray[np.int32], partition: Partition
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    starts = partition.offsets[:-1]
    return np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)


def measure(
    domain: Domain, codes: NDArray[np.int32], partition: Partition, categories: Categories
) -> pl.DataFrame:
    """Give the extent of every group, whose codes come one after the other, as plain numbers.

    Of intervals and nodes of a taxonomy the first and the last code, of sets all of them.
    """
    low, high = _extent(codes, partition)
    if categories == "ancestor" and domain.taxonomy is not None:
        return pl.DataFrame({"low": low, "high": high}, schema=NODE)
    if not domain.attribute.type.ordered:
        return _gather_sets(domain, codes, partition)
    if not domain.missing:
        return _end_intervals(domain, low, high, None)
    known = np.where(codes == domain.size - 1, -1, codes)
    last = np.maximum.reduceat(known, partition.offsets[:-1])
    return _end_intervals(domain, low, high, last)


def show_extents(
    domain: Domain, categories: Categories, labels: dict[str, list[str]], extents: pl.DataFrame
) -> tuple[list[pl.Series], Recoding]:
    """Give what is shown of different extents, in their order, and how to read it.

    What ``labels`` stand for already they go on to stand for; new ones join them.
    """
    if categories == "ancestor" and domain.taxonomy is not None:
        return _show_nodes(domain, labels, extents)
    if domain.attribute.type.ordered:
        return _show_intervals(domain, extents)
    sets = [_list_members(domain, held) for held in extents["set"]]
    return _show_sets(domain, sets, labels)


def _blur_to_region(
    domain: Domain,
    codes: NDArray[np.int32],
    partition: Partition,
    region: Region,
    categories: Categories,
    labels: dict[str, list[str]],
) -> tuple[list[pl.Series], Recoding]:
    """Show the regions that hold groups, whoever is in them."""
    if categories == "ancestor" and domain.taxonomy is not None:
        low, high = _extent(codes, partition)
        ends = {"low": low, "high": high, "from": region.low, "to": region.high}
        extents = pl.DataFrame(ends, schema=dict.fromkeys(ends, pl.Int64))
        return _show_each(extents, partial(_show_nodes, domain, labels))
    if domain.attribute.type.ordered:
        return _label_intervals(*_read_places(domain, region))
    which, sets = _find_runs(domain, region)
    made, recoding = _show_sets(domain, sets, labels)
    return [series.gather(which) for series in made], recoding


def _read_places(domain: Domain, region: Region) -> tuple[Domain, Ints, Ints]:
    """Give a domain of all values at which regions end, and their ends as codes of it."""
    top = int(region.place[len(domain.values) - 1])
    ends = np.unique(np.concatenate([region.place[[0]], region.low, region.high, [top]]))
    ends = ends[ends <= top]
    order = np.array(domain.attribute.order, dtype=object)
    values = order[ends] if domain.attribute.type is Type.ORDINAL else ends
    wide = Domain(domain.attribute, values, domain.missing, public=domain.public)
    # a missing value's place is behind all others, and so is its code
    return wide, np.searchsorted(ends, region.low), np.searchsorted(ends, region.high)


def _label_intervals(
    domain: Domain,
    low: NDArray[np.integer],
    high: NDArray[np.integer],
    last: NDArray[np.integer] | None = None,
) -> tuple[list[pl.Series], Recoding]:
    """Show runs of codes; where they end in the missing one, ``last`` is the last that is not."""
    return _show_each(_end_intervals(domain, low, high, last), partial(_show_intervals, domain))


def _end_intervals(
    domain: Domain,
    low: NDArray[np.integer],
    high: NDArray[np.integer],
    last: NDArray[np.integer] | None,
) -> pl.DataFrame:
    """Tell the missing code from where intervals end; what is missing altogether is its own end."""
    absent = np.zeros(len(low), dtype=bool)
    if domain.missing:
        absent = high == domain.size - 1
        high = np.where(absent, domain.size - 2, high) if last is None else last
    ends = {"low": low, "high": np.where(high < low, low, high)}
    return pl.DataFrame({**ends, "absent": absent}, schema=INTERVAL)


def _show_intervals(domain: Domain, extents: pl.DataFrame) -> tuple[list[pl.Series], Recoding]:
    texts: dict[str, None] = {}
    for low, high, missing in extents.iter_rows():
        texts[free_label(_write_interval(domain, low, high, missing), texts)] = None
    values, absent = domain.series(), extents["absent"]
    ends = [values.gather(extents[end]) for end in ("low", "high")]
    labels = pl.Series(list(texts), dtype=pl.Enum(list(texts)))
    recoding = Recoding(
        Transformation.INTERVAL,
        domain=[domain.texts[0], domain.texts[len(domain.values) - 1]],
        missing=domain.missing,
        public=domain.public,
    )
    return [labels, *ends, *([absent] if domain.missing else [])], recoding


def _show_each(extents: pl.DataFrame, show: Show) -> tuple[list[pl.Series], Recoding]:
    """Show every group what ``show`` makes of its extent, which is asked once of each."""
    distinct = sort_extents([extents])
    numbered = distinct.with_row_index("number")
    number = extents.join(numbered, on=extents.columns, how="left", maintain_order="left")["number"]
    made, recoding = show(distinct)
    return [series.gather(number) for series in made], recoding


def sort_extents(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Give the different extents among some, in their order: by it labels are numbered."""
    extents = pl.concat(found).unique()
    return extents.sort(extents.columns)


def _write_interval(domain: Domain, low: int, high: int, absent: bool) -> str:
    if low == domain.size - 1 and domain.missing:
        return MISSING
    known = len(domain.values) - 1
    if (low, high, absent) == (0, known, domain.missing) and domain.size > 1:
        return ANY
    text = spell_interval(domain.attribute, domain.texts[low], domain.texts[high])
    return f"{text} or {MISSING}" if absent else text


def _write_value(domain: Domain, code: int) -> str:
    text = domain.texts[code]
    return text if code >= len(domain.values) else spell_interval(domain.attribute, text, text)


def _show_sets(
    domain: Domain, sets: list[list[int]], labels: dict[str, list[str]]
) -> tuple[list[pl.Series], Recoding]:
    named = [(_write_set(domain, members), [domain.texts[c] for c in members]) for members in sets]
    return _label_sets(domain, named, labels)


def _label_sets(
    domain: Domain, named: Iterable[tuple[str, list[str]]], labels: dict[str, list[str]]
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
    return [pl.Series(shown, dtype=pl.Enum(list(labels)))], _recode_to_sets(domain, labels)


def _recode_to_sets(domain: Domain, labels: dict[str, list[str]]) -> Recoding:
    texts = list(domain.texts)
    return Recoding(Transformation.SET, labels, texts, domain.missing, domain.public)


def free_label(label: str, taken: Container[str]) -> str:
    """Number a label that stands for something else already."""
    free, copy = label, 1
    while free in taken:
        copy += 1
        free = f"{label} ({copy})"
    return free


def _gather_sets(domain: Domain, codes: NDArray[np.int32], partition: Partition) -> pl.DataFrame:
    """Give the set of codes of every group: as bits of a number, or, of many codes, as bytes."""
    if domain.size <= MOST_BITS:
        bits = np.int64(1) << codes.astype(np.int64)
        masks = np.bitwise_or.reduceat(bits, partition.offsets[:-1])
        return pl.DataFrame({"set": masks}, schema={"set": pl.Int64})
    groups = Groups.from_labels(partition.sorted_labels, codes, domain, count=partition.count)
    bags = [
        groups.codes[start:end].tobytes()
        for start, end in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
    ]
    return pl.DataFrame({"set": bags}, schema={"set": pl.Binary})


def _list_members(domain: Domain, held: int | bytes) -> list[int]:
    """Read the codes of a set."""
    if isinstance(held, bytes):
        return [int(code) for code in np.frombuffer(held, dtype=np.int32)]
    return [code for code in range(domain.size) if held >> code & 1]


def _find_runs(domain: Domain, region: Region) -> tuple[Ints, list[list[int]]]:
    """The same for regions: the codes between two places, whoever has them."""
    code_at = np.argsort(region.place)
    runs, which = np.unique(region.low * domain.size + region.high, return_inverse=True)
    sets = [sorted(code_at[r // domain.size : r % domain.size + 1].tolist()) for r in runs.tolist()]
    return which, sets


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


def _show_nodes(
    domain: Domain, labels: dict[str, list[str]], extents: pl.DataFrame
) -> tuple[list[pl.Series], Recoding]:
    """Publish lowest common ancestors, or the highest node in a region that holds these.

    A label stands for all leaves below its node.
    """
    tree = domain.taxonomy
    assert tree is not None
    named = []
    for first, last, *around in extents.iter_rows():
        if around == [0, domain.size - 1] and domain.size > 1:
            named.append((ANY, list(domain.texts)))
        elif first == last and (not around or first >= len(tree.leaves)):
            named.append((_write_value(domain, first), [domain.texts[first]]))
        elif last >= len(tree.leaves):  # with missing, nothing short of everything covers it
            named.append((ANY, list(domain.texts)))
        else:
            node = tree.ancestor(first, last)
            for number in tree.path(first) if around else ():
                node = tree.nodes[number]
                if around[0] <= node.low and node.high <= around[1] + 1:
                    break
            name = ANY if node.parent < 0 else node.name
            named.append((name, domain.texts[node.low : node.high]))
    return _label_sets(domain, named, labels)
