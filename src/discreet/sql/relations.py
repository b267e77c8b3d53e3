"""Relations: what a statement reads from, which is rows of people or rows of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.sql.intervals import Doubt, Estimate, Known, Value, lift, name_value
from discreet.sql.query import ENDINGS
from discreet.sql.reading import refuse, show, spell
from discreet.sql.scopes import Scope
from discreet.sql.trees import column, name_part
from discreet.sql.windows import KEPT, SURE

Items = list[tuple[str, exp.Expr]]
"""What is selected, under its name."""
LONGEST_NAME = 40


@dataclass(frozen=True)
class People:
    """Rows of people: what can be read of them under which name, and whom conditions select."""

    columns: dict[str, exp.Expr]
    where: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Answers:
    """Rows of answers."""

    tree: exp.Query
    columns: dict[str, bool]
    """Per column whether it is estimated; then it has its bounds and errors beside it."""
    uncertain: bool = False
    """Whether rows have flags that say if they are in the answer."""
    decides: bool = False
    """Whether a condition on estimates decided which rows there are."""
    there: Mapping[str, exp.Expr] = field(default_factory=dict)
    """When there surely is a number, of columns of which that is known."""
    told: frozenset[str] = frozenset()
    """Columns that a form gave as they are."""


Relation = People | Answers


def read_answers(name: str, estimated: bool, answers: Answers | None = None) -> Known | Estimate:
    """Say what stands under a name, in some answers."""
    parts = [column(name + ending) for ending in ENDINGS]
    if not estimated:
        return Known(parts[0])
    if answers is None:
        return Estimate(*parts)
    return Estimate(*parts, there=answers.there.get(name), is_told=name in answers.told)


def read_again(name: str, value: Known | Estimate) -> Known | Estimate:
    """Say what stands under a name that a value was given, in rows that are not its own."""
    if isinstance(value, Known):
        return read_answers(name, estimated=False)
    known = value.there if isinstance(value.there, exp.Boolean) else None
    return Estimate(*(column(name + ending) for ending in ENDINGS), there=known)


def name_there(name: str) -> str:
    """Name the column that says whether there surely is a number."""
    return f"#there {name}"


def open_answers(answers: Answers, alias: str) -> Scope:
    """Make the rows of an answer a table that can be selected from."""
    columns: dict[tuple[str, str], Value] = {
        (alias.lower(), n): read_answers(n, e, answers) for n, e in answers.columns.items()
    }
    source = answers.tree.subquery(exp.to_identifier("#rows", quoted=True))
    return Scope(source, columns, answers.uncertain)


def select_columns(
    answers: Answers, columns: Sequence[tuple[str, bool]], *, flags: bool
) -> exp.Select:
    """Select the columns of an answer under other names, some of them as estimates."""
    made: list[exp.Expr] = []
    for (own, estimated), (name, wanted) in zip(answers.columns.items(), columns, strict=True):
        value = read_answers(own, estimated)
        if wanted and not estimated:
            value = lift(value)
        made += name_value(value, name)
    if flags:
        for flag in (KEPT, SURE):
            made.append(column(flag) if answers.uncertain else exp.true().as_(flag, quoted=True))
    return select(*made).from_(answers.tree.subquery(exp.to_identifier("#side", quoted=True)))


def unite(query: exp.Expr, first: Answers, second: Answers) -> Answers:
    """Put rows of two answers one behind the other."""
    if len(first.columns) != len(second.columns):
        raise refuse(query, "the sides of UNION ALL have different columns")
    pairs = zip(first.columns.items(), second.columns.values(), strict=True)
    columns = {name: here or there for (name, here), there in pairs}
    uncertain = first.uncertain or second.uncertain
    trees = [select_columns(side, list(columns.items()), flags=uncertain)
             for side in (first, second)]  # fmt: skip
    tree = exp.union(*trees, distinct=False, copy=False)
    decides = first.decides or second.decides
    there = {name: exp.true() for (name, here), other in zip(
                 first.columns.items(), second.columns, strict=True)
             if all(isinstance(side.there.get(known), exp.Boolean)
                    for side, known in ((first, name), (second, other)))}  # fmt: skip
    return Answers(tree, columns, uncertain, decides, there)


def join_answers(sides: list[tuple[Answers, str]], joins: list[exp.Join]) -> tuple[Scope, bool]:
    """Join rows of answers, and tables of the analyst's own, by what is known."""
    scope, decides = _open_side(sides[0], 0), sides[0][0].decides
    for i, ((side, alias), join) in enumerate(zip(sides[1:], joins, strict=True), start=1):
        kind = (join.side or join.kind or "").upper()
        if kind not in ("", "INNER", "LEFT", "CROSS") or (kind == "LEFT" and side.uncertain):
            raise refuse(join, f"{kind} JOIN of answers cannot be told", "Use JOIN or LEFT JOIN.")
        other = _open_side((side, alias), i)
        if kind == "LEFT":  # who finds no row has nothing there
            other.columns = {key: replace(value, there=None, is_told=False)
                             if isinstance(value, Estimate) else value
                             for key, value in other.columns.items()}  # fmt: skip
        using = [part.name for part in join.args.get("using") or []]
        pairs: list[exp.Expr] = []
        for name in using:
            here, there = (s.find(exp.column(name)) for s in (scope, other))
            pairs.append(_know(join, here).eq(_know(join, there)))
            other.columns = {k: v for k, v in other.columns.items() if k[1].lower() != name.lower()}
        both = Scope(exp.null(), {**scope.columns, **other.columns}, uncertain=False)
        if on := join.args.get("on"):
            pairs.append(_know(on, both.compile(on)))
        flags = _join_flags(scope, side.uncertain, i)
        inner = select(*(column(n) for n in list_names(both.columns)), *flags)
        inner = inner.from_(scope.source.copy())
        joined = {"join_type": kind or "INNER"} if pairs or kind else {"join_type": "CROSS"}
        on_tree = exp.and_(*pairs) if pairs else None
        inner = inner.join(other.source.copy(), on=on_tree, **joined)  # type: ignore[arg-type]
        scope = Scope(inner.subquery(exp.to_identifier(f"#joined {i}", quoted=True)),
                      both.columns, scope.uncertain or side.uncertain)  # fmt: skip
        decides = decides or side.decides
    return scope, decides


def _join_flags(scope: Scope, uncertain: bool, i: int) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for flag in (KEPT, SURE):
        parts = [column(flag)] * scope.uncertain + [column(f"#j {i} {flag}")] * uncertain
        if parts:
            found.append(exp.and_(*(part.copy() for part in parts)).as_(flag, quoted=True))
    return found


def _open_side(side: tuple[Answers, str], i: int) -> Scope:
    """Give a side of a join names that no other side has."""
    answers, alias = side
    names = {name: f"#j {i} {name}" for name in answers.columns}
    renamed = [(names[n], e) for n, e in answers.columns.items()]
    tree = select_columns(answers, renamed, flags=False)
    there = dict[str, exp.Expr]()
    for name, condition in answers.there.items():
        there[names[name]] = condition
        if isinstance(condition, exp.Column):
            there[names[name]] = column(name_there(names[name]))
            tree.select(name_part(condition, name_there(names[name])), copy=False)
    told = frozenset(names[name] for name in answers.told)
    moved = Answers(tree, dict(renamed), there=there, told=told)
    if answers.uncertain:
        flags = (KEPT, SURE) if i == 0 else (f"#j {i} {KEPT}", f"#j {i} {SURE}")
        tree = tree.select(*(column(own).as_(flag, quoted=True)
                             for own, flag in zip((KEPT, SURE), flags, strict=True)))  # fmt: skip
    columns: dict[tuple[str, str], Value] = {
        (alias.lower(), n): read_answers(names[n], e, moved) for n, e in answers.columns.items()
    }
    source = tree.subquery(exp.to_identifier(f"#side {i}", quoted=True))
    return Scope(source, columns, answers.uncertain)


def _know(node: exp.Expr, value: Value) -> exp.Expr:
    if not isinstance(value, Known):
        raise refuse(
            node, "tables are joined by an estimate", "Join them by what people are grouped by."
        )
    return value.tree.copy()


def list_names(columns: dict[tuple[str, str], Value]) -> list[str]:
    """Name the columns that a relation must have for some values, each once."""
    found: list[str] = []
    for value in columns.values():
        assert not isinstance(value, Doubt)
        there = [] if isinstance(value, Known) or value.there is None else [value.there]
        for part in [*value.parts, *there]:
            found += [inner.name for inner in part.find_all(exp.Column)]
    return list(dict.fromkeys(found))


def name_items(expressions: list[exp.Expr]) -> Items:
    """Give what is selected its names: those it was given, or what it says."""
    found = []
    for item in expressions:
        inner = item.unalias()
        if item.alias:
            name = item.alias
        elif isinstance(inner, exp.Column):
            name = inner.name
        else:
            words = "_".join(part for part in spell(show(inner)).split("_") if part)
            name = words[:LONGEST_NAME] or "value"
        found.append((name, inner))
    return found


def refuse_twice(columns: dict[str, bool], names: list[str]) -> None:
    """Refuse answers in which two columns have one name."""
    listed = [n + e for n in names for e in (ENDINGS if columns.get(n) else ENDINGS[:1])]
    if len({name.casefold() for name in listed}) < len(listed):
        raise QueryError("Two columns of the answer have the same name.", hint="Use AS.")
    for name in listed:
        if name.startswith("#"):
            raise QueryError(f"No column may be called {name!r}.", hint="Use AS.")
