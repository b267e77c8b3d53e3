"""Relations: what a statement reads from, which is rows of people or rows of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.release import name_own
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
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of ordinals from low to high, of columns that hold them."""


Relation = People | Answers


def read_answers(name: str, estimated: bool, answers: Answers | None = None) -> Known | Estimate:
    """Say what stands under a name, in some answers."""
    parts = [column(name + ending) for ending in ENDINGS]
    if not estimated:
        return Known(parts[0], () if answers is None else answers.orders.get(name, ()))
    if answers is None:
        return Estimate(*parts)
    return Estimate(*parts, there=answers.there.get(name), is_told=name in answers.told)


def read_again(name: str, value: Known | Estimate) -> Known | Estimate:
    """Say what stands under a name that a value was given, in rows that are not its own."""
    if isinstance(value, Known):
        return Known(column(name), value.order)
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


def open_parentheses(query: exp.Subquery) -> exp.Expr:
    """Give the query in parentheses; refuse what stands behind them and says more."""
    for name, part in query.args.items():
        if part and name not in ("this", "alias"):
            raise refuse(query, f"{name.rstrip('_').upper()} behind parentheses cannot be answered",
                         "Write it inside, or select from it: SELECT * FROM (…) t ….")  # fmt: skip
    inner: exp.Expr = query.this
    return inner


def read_distinct(query: exp.Select) -> exp.Expr | None:
    """Give the DISTINCT of a query, which is not ON something."""
    distinct: exp.Expr | None = query.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise refuse(query, "DISTINCT ON cannot be answered: it takes any row",
                     "Use GROUP BY, with MIN or MAX of the rest.")  # fmt: skip
    return distinct


def rename_columns(relation: Relation, named: exp.Expr) -> Relation:
    """Give the columns of a relation the names that stand behind its own: t(a, b)."""
    alias = named.args.get("alias")
    given = [part.name for part in alias.args.get("columns") or []] if alias is not None else []
    if not given:
        return relation
    if len(given) > len(relation.columns) or len({n.lower() for n in given}) < len(given):
        raise refuse(named, f"there are {len(relation.columns)} columns to be named",
                     "Name each once, in their order.")  # fmt: skip
    names = dict(zip(relation.columns, [*given, *[*relation.columns][len(given) :]], strict=True))
    refuse_twice(dict.fromkeys(names.values(), False), list(names.values()))
    if isinstance(relation, People):
        return replace(relation, columns={names[n]: e for n, e in relation.columns.items()})
    return _rename(relation, names, (KEPT, SURE))


def _rename(answers: Answers, names: Mapping[str, str], flags: tuple[str, str]) -> Answers:
    """Give the columns of answers, and their flags, other names."""
    renamed = [(names[n], e) for n, e in answers.columns.items()]
    tree = select_columns(answers, renamed, flags=False)
    there = dict[str, exp.Expr]()
    for name, condition in answers.there.items():
        there[names[name]] = condition
        if isinstance(condition, exp.Column):
            there[names[name]] = column(name_there(names[name]))
            tree.select(name_part(condition, name_there(names[name])), copy=False)
    if answers.uncertain:
        tree = tree.select(*(column(own).as_(flag, quoted=True)
                             for own, flag in zip((KEPT, SURE), flags, strict=True)))  # fmt: skip
    told = frozenset(names[name] for name in answers.told)
    orders = {names[name]: order for name, order in answers.orders.items()}
    return replace(answers, tree=tree, columns=dict(renamed), there=there, told=told, orders=orders)


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
        words = (join.method, join.side, "" if join.kind.upper() == "OUTER" else join.kind)
        kind = " ".join(filter(None, words)).upper()
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
    flags = (KEPT, SURE) if i == 0 else (f"#j {i} {KEPT}", f"#j {i} {SURE}")
    moved = _rename(answers, names, flags)
    columns: dict[tuple[str, str], Value] = {
        (alias.lower(), n): read_answers(names[n], e, moved) for n, e in answers.columns.items()
    }
    source = moved.tree.subquery(exp.to_identifier(f"#side {i}", quoted=True))
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
    """Give what is selected its names: those it was given, or what it says.

    The latter give way to the former, with all that may stand beside an estimate.
    """
    found: Items = []
    named = [item.alias or (item.name if isinstance(item, exp.Column) else "")
             for item in expressions]  # fmt: skip
    taken = [name.removesuffix(ending) for name in filter(None, named) for ending in ENDINGS]
    for item, name in zip(expressions, named, strict=True):
        inner = item.unalias()
        words = "_".join(part for part in spell(show(inner)).split("_") if part)
        found.append((name or name_own(words[:LONGEST_NAME] or "value", taken), inner))
    return found


def refuse_twice(columns: dict[str, bool], names: list[str]) -> None:
    """Refuse answers in which two columns have one name."""
    listed = [n + e for n in names for e in (ENDINGS if columns.get(n) else ENDINGS[:1])]
    if len({name.casefold() for name in listed}) < len(listed):
        raise QueryError("Two columns of the answer have the same name.", hint="Use AS.")
    for name in listed:
        if name.startswith("#"):
            raise QueryError(f"No column may be called {name!r}.", hint="Use AS.")
