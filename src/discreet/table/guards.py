"""Guards: what people do not want to be told of them, from a column that is read and never leaves.

Xiao and Tao, Personalized Privacy Preservation, SIGMOD 2006: everybody names a guarding node in the
taxonomy of a sensitive attribute, or a value of it, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import MicrodataError, SchemaError, list_problems
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import Coded
from discreet.table.domain import Domain, read_unit, reduce_column
from discreet.table.schema import Attribute, Missing, Role, Schema, Type
from discreet.table.taxonomy import Node, Taxonomy

if TYPE_CHECKING:
    from discreet.table.microdata import Microdata

MOST_SHOWN = 10
"""Of what could be guarded, so much is listed."""


@dataclass(frozen=True, eq=False)
class PairDomain(Domain):
    """Values of a sensitive attribute, each beside what somebody who has it guards."""

    value_of: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Per code that of the value."""
    runs: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    """Per code the run of values that is guarded, from the first to before the last; or none."""
    guards: tuple[str, ...] = ()
    """Per code what is guarded, as it was written."""


def read_guards(frame: pl.DataFrame, schema: Schema, keep: Bools | None) -> dict[str, Coded]:
    """Read what people guard, per sensitive attribute; an empty cell guards nothing."""
    found = {}
    for attribute in schema:
        if attribute.guards is None:
            continue
        guarded = schema[attribute.guards]
        if schema.people.rows == "fold" and guarded.fold not in (None, "first", "last"):
            raise SchemaError(
                f"columns.{attribute.name} guards values of {guarded.name!r}, of which a fold by "
                f"{guarded.fold} makes others.",
                hint='Fold it by "first" or "last", or publish one row of everybody.',
            )
        plain = Attribute(
            attribute.name, Role.OTHER, Type.CATEGORY, missing=Missing.VALUE, na=attribute.na
        )
        found[guarded.name] = reduce_column(frame[attribute.name], plain).encode(keep)
    return found


def check_guards(data: Microdata) -> None:
    """Refuse guards that differ between rows of a person, and what is no value and no node."""
    for name, (codes, guards) in data.guards.items():
        column, persons = guards.attribute.name, data.persons
        if persons is not None:
            differ = persons.fold_any(codes != codes[persons.first][persons.of])
            if differ.any():
                raise MicrodataError(
                    f"column {column!r}: {int(differ.sum()):,} people guard different values of "
                    f"{name!r} in different rows.",
                    hint="Give every row of a person the same guard.",
                )
    problems: list[str] = []
    hints = []
    for name, (_, guards) in data.guards.items():
        domain, before = data.domains[name], len(problems)
        for text in guards.values:
            problem = _find_problem(domain, str(text))
            if problem is not None:
                problems.append(f"column {guards.attribute.name!r}: {problem}")
        if len(problems) > before:
            hints.append(_list_known(domain))
    if problems:
        raise MicrodataError(
            f"Guards cannot be read:\n{list_problems(problems, most=12)}", hint=" ".join(hints)
        )


def _find_problem(domain: Domain, text: str) -> str | None:
    name, nodes = domain.attribute.name, _find_nodes(domain, text)
    if not nodes and not _is_value(domain, text):
        return f"{text!r} is no value of {name!r} and no node of its taxonomy"
    widest = _widest(nodes)
    if widest is not None and widest.parent < 0:
        return f"{text!r} stands for every value of {name!r}: that somebody has one is no secret"
    if widest and any(n.low < widest.low or n.high > widest.high for n in nodes):
        return f"{text!r} is the name of several nodes of the taxonomy of {name!r}"
    return None


def _list_known(domain: Domain) -> str:
    tree = _find_tree(domain)
    inner = [n.name for n in tree.nodes if n.parent >= 0 and n.high - n.low > 1] if tree else []
    known = list(dict.fromkeys([*inner, *domain.texts]))
    more = ", …" if len(known) > MOST_SHOWN else ""
    name = domain.attribute.name
    return (
        f"Of {name!r} can be guarded: {', '.join(known[:MOST_SHOWN])}{more}. Leave the cell empty "
        "for nothing; values that nobody has stand in a taxonomy, or in values = […]."
    )


def _find_tree(domain: Domain) -> Taxonomy | None:
    """Give the taxonomy with all that it names; of a rule, what it makes of these values."""
    whole = domain.attribute.taxonomy
    return whole if isinstance(whole, Taxonomy) else domain.taxonomy


def _find_nodes(domain: Domain, text: str) -> list[Node]:
    tree = _find_tree(domain)
    return [] if tree is None else [node for node in tree.nodes if node.name == text]


def _widest(nodes: list[Node]) -> Node | None:
    return max(nodes, key=lambda node: node.high - node.low, default=None)


def _spell(domain: Domain, text: str) -> str:
    """Write a value as the domain does."""
    kind = domain.attribute.type
    if not (kind.numeric or kind is Type.BOOLEAN):
        return text
    unit = read_unit(text, kind, domain.decimals)
    return text if unit is None else domain.write(unit)


def _is_value(domain: Domain, text: str) -> bool:
    known = {*domain.texts, *domain.attribute.values, *domain.attribute.order}
    return _spell(domain, text) in known


def list_guarded(data: Microdata, name: str) -> tuple[Ints, list[frozenset[str]]]:
    """Give what everybody guards of an attribute: a number, or -1; and the values of each."""
    codes, guards = require_guards(data, name)
    sets = []
    for text in map(str, guards.values):
        node, tree = _widest(_find_nodes(data.domains[name], text)), _find_tree(data.domains[name])
        if node is None or tree is None:
            sets.append(frozenset([_spell(data.domains[name], text)]))
        else:
            sets.append(frozenset(tree.leaves[node.low : node.high]))
    return np.where(codes < len(sets), codes, -1).astype(np.int64), sets


def pair_guards(data: Microdata, name: str) -> tuple[NDArray[np.int32], PairDomain]:
    """Code every row by its value of an attribute and by what its person guards, together."""
    from discreet.table.microdata import representatives, row_ids

    guard_of, guards = require_guards(data, name)
    runs = np.array([_find_run(data.domains[name], str(text)) for text in guards.values] + [(0, 0)])
    texts = [*map(str, guards.values), ""]
    pairs = row_ids([data.codes[name], guard_of], data.n)
    row = representatives(pairs)
    attribute = replace(guards.attribute, role=Role.SENSITIVE, type=Type.INTEGER)
    domain = PairDomain(
        attribute,
        np.arange(len(row)),
        value_of=data.codes[name][row].astype(np.int64),
        runs=runs[guard_of[row]].astype(np.int64),
        guards=tuple(texts[g] for g in guard_of[row]),
    )
    return pairs.astype(np.int32), domain


def _find_run(domain: Domain, text: str) -> tuple[int, int]:
    """Give the codes that a guard covers: those below a node are one run, as in its taxonomy."""
    node, tree = _widest(_find_nodes(domain, text)), _find_tree(domain)
    if node is None or tree is None:
        code = int(domain.find([_spell(domain, text)])[0])
        return (code, code + 1) if code >= 0 else (0, 0)
    here = set(domain.texts[: len(domain.values)])
    before = list(accumulate((leaf in here for leaf in tree.leaves), initial=0))
    return before[node.low], before[node.high]


def require_guards(data: Microdata, name: str) -> Coded:
    """Give what people guard of an attribute, or refuse a table that does not say."""
    if name not in data.guards:
        raise SchemaError(
            f"What people guard of {name!r} is not known.",
            hint=f'Name the column that says it: guards = "{name}" for that column, in a plan '
            "under [columns]; or ask it of another attribute (on).",
        )
    return data.guards[name]
