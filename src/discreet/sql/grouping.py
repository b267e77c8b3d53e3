"""Grouping: SELECT … FROM release … GROUP BY, as questions to a form and rows of their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.sql.aggregates import find_aggregates, read_aggregate
from discreet.sql.expressions import find_type
from discreet.sql.intervals import Estimate, Known, at_least, name_value
from discreet.sql.query import ENDINGS, Aggregate, Query, Term, find_columns
from discreet.sql.reading import read_place, refuse, show
from discreet.sql.relations import Answers, Items, read_again, read_answers
from discreet.sql.scopes import Scope
from discreet.sql.trees import add_up, case, column, double, named_table, nothing, number
from discreet.sql.windows import KEPT, SURE
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Schema

PEOPLE = "#n"
"""How many people a group has: it may have none."""


@dataclass
class Filtered:
    """A question about people whom further conditions select."""

    where: list[exp.Expr]
    aggregates: list[Aggregate] = field(default_factory=list)
    told: Term | None = None
    """Whose values are told apart, where they are counted."""
    alias: str = ""


@dataclass
class Grouping:
    """The groups of one SELECT, and everything that is asked of them."""

    schema: Schema
    note: Callable[[Query], str]
    """Notes a question, and gives the name of the table of its answer."""
    where: list[exp.Expr]
    read: Callable[[exp.Expr], exp.Expr]
    """Reads what is written of people as expressions of attributes."""
    keys: list[Term] = field(default_factory=list)
    sets: list[list[int]] = field(default_factory=lambda: [[]])
    """Per grouping set the keys it groups by."""
    asked: dict[tuple[str, ...], Filtered] = field(default_factory=dict)
    distinct: list[Filtered] = field(default_factory=list)
    terms: dict[str, Term] = field(default_factory=dict)
    scope: Scope = field(default_factory=lambda: Scope(exp.null(), {}, uncertain=False))
    scalars: list[Answers] = field(default_factory=list)
    is_watched: bool = True
    """Whether it matters if there is a number at all: then people who have one are counted."""

    # groups

    def read_group(self, group: exp.Group | None, items: Items, names: list[str]) -> None:
        """Read GROUP BY: columns, expressions, aliases, places, ALL, ROLLUP, CUBE, sets."""
        if group is None:
            return
        written = list(group.expressions)
        if group.args.get("all"):
            written = [item for _, item in items if not find_aggregates(item)]
        sets: list[list[int]] = [[]]
        for part in written:
            sets = [[*a, *b] for a in sets for b in self._read_part(part, items, names)]
        if group.args.get("rollup") or group.args.get("cube"):  # WITH ROLLUP
            (all_,) = sets
            sets = _roll_up(all_) if group.args.get("rollup") else _list_subsets(all_)
        if extra := group.args.get("grouping_sets"):
            raise refuse(group, f"{show(extra[0])} cannot be read", "Write GROUPING SETS (…).")
        self.sets = [list(dict.fromkeys(chosen)) for chosen in sets]

    def _read_part(self, part: exp.Expr, items: Items, names: list[str]) -> list[list[int]]:
        inner = part.unnest()
        if isinstance(inner, exp.Rollup | exp.Cube):
            each = [self._read_set(e, items, names) for e in inner.expressions]
            chosen = range(len(each))
            lists = (
                _roll_up([*chosen]) if isinstance(inner, exp.Rollup) else _list_subsets([*chosen])
            )
            return [[key for i in some for key in each[i]] for some in lists]
        if isinstance(inner, exp.GroupingSets):
            return [s for e in inner.expressions for s in self._read_part(e, items, names)]
        return [self._read_set(inner, items, names)]

    def _read_set(self, part: exp.Expr, items: Items, names: list[str]) -> list[int]:
        inner = part.unnest()
        if isinstance(inner, exp.Tuple):
            return [key for e in inner.expressions for key in self._read_set(e, items, names)]
        if inner.is_int:
            inner = items[read_place(inner, len(items), "group") - 1][1]
        elif isinstance(inner, exp.Column) and not inner.table:
            known = {name.lower() for name in names}
            named = {name.lower(): item for name, item in items}
            if inner.name.lower() not in known:
                inner = named.get(inner.name.lower(), inner)
        if find_aggregates(inner):
            raise refuse(inner, f"{show(inner)} is an aggregate: people cannot be grouped by it")
        return [self._find_key(self.read(inner))]

    def _find_key(self, expression: exp.Expr) -> int:
        expression = self._settle(expression)
        for i, key in enumerate(self.keys):
            if key.expression == expression:
                return i
        if not isinstance(expression, exp.Column):
            find_type(expression, self.schema)
        key = self._name(expression, "#k")
        if not key.is_plain and self._is_coarse(key):
            raise refuse(
                expression, f"{show(expression)} is of what was made coarser in this release",
                "Group by the column itself, as it is shown.",
            )  # fmt: skip
        self.keys.append(key)
        return len(self.keys) - 1

    def _settle(self, expression: exp.Expr) -> exp.Expr:
        """Write a constant so that no database takes it for the place of a column."""
        if find_columns(expression) or isinstance(expression, exp.Cast):
            return expression
        return exp.cast(expression, find_type(expression, self.schema))

    def _name(self, expression: exp.Expr, prefix: str) -> Term:
        if isinstance(expression, exp.Column):
            return Term(expression.name, expression)
        text = show(expression)
        if text not in self.terms:
            self.terms[text] = Term(f"{prefix} {len(self.terms)}", expression)
        return self.terms[text]

    # questions

    def ask(
        self, function: str, argument: exp.Expr | None, where: list[exp.Expr],
        share: Fraction | None = None,
    ) -> Estimate:  # fmt: skip
        """Ask for an aggregate of the people that further conditions select."""
        term = None
        if argument is not None:
            expression = self.read(argument)
            self._check(function, argument, expression)
            term = self._name(expression, "#m")
        there: exp.Expr | None = exp.true() if function == "COUNT" else self.see(argument, where)
        filtered = self._filter(where)
        made = next((known for known in filtered.aggregates
                     if (known.function, known.term, known.share) == (function, term, share)),
                    None)  # fmt: skip
        if made is None:
            count = sum(len(f.aggregates) for f in self.asked.values())
            made = Aggregate(function, term, f"#a {count}", share)
            filtered.aggregates.append(made)
        # of what was made coarser there may be a number without bounds
        return self._at(made.alias, there, is_told=not self._is_coarse(term))

    def _is_coarse(self, term: Term | None) -> bool:
        return term is not None and any(is_coarse(self.schema[name]) for name in term.columns)

    def see(self, argument: exp.Expr | None, where: list[exp.Expr]) -> exp.Expr | None:
        """Say when somebody surely has a number, where that is watched."""
        if not self.is_watched:
            return None
        return at_least(self.ask("COUNT", argument, where), 1)

    def _at(self, alias: str, there: exp.Expr | None, *, is_told: bool = True) -> Estimate:
        value = read_answers(alias, estimated=True)
        assert isinstance(value, Estimate)
        self.scope.columns["", alias] = told = replace(value, there=there, is_told=is_told)
        return told

    def _filter(self, where: list[exp.Expr]) -> Filtered:
        read = [self.read(part) for part in where]
        asked = tuple(show(part) for part in read)
        return self.asked.setdefault(asked, Filtered(read))

    def count_distinct(self, argument: exp.Expr, where: list[exp.Expr]) -> Estimate:
        """Ask how many values there are: people are grouped by them besides."""
        told = self._name(self.read(argument), "#k")
        if self._is_coarse(told):
            raise refuse(
                argument, f"{show(argument)} was made coarser in this release: its values "
                "cannot be counted", "Count people: COUNT(*).",
            )  # fmt: skip
        there = exp.not_(exp.Paren(this=argument.copy()).is_(exp.null()))
        filtered = Filtered([self.read(part) for part in [*where, there]], told=told)
        filtered.alias = f"#d {len(self.distinct)}"
        self.distinct.append(filtered)
        return self._at(filtered.alias, exp.true())

    def hold(self, value: Estimate) -> Estimate:
        """Compute an estimate where what uses it can read it."""
        return self.scope.hold(value)

    def _check(self, function: str, argument: exp.Expr, expression: exp.Expr) -> None:
        if isinstance(expression, exp.Column):
            attribute = self.schema[expression.name]
            kind, numeric = str(attribute.type), attribute.type in ("integer", "decimal")
        else:
            kind = find_type(expression, self.schema)
            numeric = kind in ("BIGINT", "DOUBLE")
        text = show(argument)
        if function in ("SUM", "AVG", "QUANTILE") and not numeric:
            said = f"{expression.name!r} is a {kind}" if isinstance(expression, exp.Column) else (
                f"{text} is a {kind.lower()}")  # fmt: skip
            raise refuse(argument, f"{said}, not a number")
        if function in ("MIN", "MAX") and kind in ("boolean", "BOOLEAN"):
            raise refuse(argument, f"{text} is true or false: it has no {function}")
        if function in ("MIN", "MAX") and kind == "ordinal":
            raise refuse(
                argument,
                f"{function} of {expression.name!r}, an ordinal, cannot be answered",
                f"Count instead: SELECT COUNT(*) FROM release WHERE {expression.sql()} >= '…'.",
            )

    def place(self, node: exp.Expr) -> exp.Expr:
        """Say an expression in terms of answers: keys, aggregates, and what is made of them."""
        held = exp.Paren(this=node.copy())
        self._place_keys(held)
        for aggregate in find_aggregates(held):
            value = self.scope.hold(read_aggregate(aggregate, self, []))
            title = f"#v {len(self.scope.columns)}"
            self.scope.columns["", title] = value
            aggregate.replace(exp.column(title, quoted=True))
        for inner in held.find_all(exp.Column):
            if not inner.name.startswith("#"):
                raise refuse(
                    inner, f"{inner.name!r} is not in GROUP BY", "Group by it, or aggregate it."
                )
        placed: exp.Expr = held.this
        return placed.pop()

    def _place_keys(self, held: exp.Expr) -> None:
        left = [held.this]
        aggregates = {id(node) for node in find_aggregates(held)}
        while left:
            node = left.pop()
            if id(node) in aggregates:
                continue
            if isinstance(node, exp.Grouping):
                (asked,) = (self._read_quietly(e) for e in node.expressions[:1])
                places = [i for i, key in enumerate(self.keys) if key.expression == asked]
                if places:
                    node.replace(exp.column(f"#grouping {places[0]}", quoted=True))
                continue
            read = self._read_quietly(node)
            place = next((i for i, k in enumerate(self.keys) if k.expression == read), None)
            if place is not None and read is not None:
                node.replace(exp.column(f"#key {place}", quoted=True))
                self.scope.columns["", f"#key {place}"] = self._know_key(place)
            else:
                left += list(node.iter_expressions())

    def _know_key(self, place: int) -> Known:
        key = self.keys[place]
        order = self.schema[key.name].order if key.is_plain else ()
        return Known(column(f"#key {place}"), order)

    def _read_quietly(self, node: exp.Expr) -> exp.Expr | None:
        """Read an expression of attributes, if it is one."""
        if not find_columns(node) or find_aggregates(node) or node.find(exp.Window, exp.Query):
            return None
        try:
            return self._settle(self.read(node))
        except QueryError:
            return None

    # answers

    def open(self) -> Scope:
        """Note all questions, and give the rows of their answers."""
        trees = [self._open_set(chosen) for chosen in self.sets]
        tree: exp.Query = trees[0]
        for other in trees[1:]:
            tree = exp.union(tree, other, distinct=False, copy=False)
        source: exp.Expr = tree.subquery(exp.to_identifier("#groups", quoted=True), copy=False)
        for i, answers in enumerate(self.scalars):
            ((name, estimated),) = answers.columns.items()
            value = read_answers(name, estimated, answers)
            one = select(*name_value(value, f"#s {i}"))
            one = one.from_(answers.tree.subquery(exp.to_identifier("#one", quoted=True)))
            joined = select(exp.Star()).from_(source)
            alias = exp.to_identifier(f"#scalar {i}", quoted=True)
            joined = joined.join(one.subquery(alias), join_type="CROSS")
            source = joined.subquery(exp.to_identifier(f"#with {i}", quoted=True))
            self.scope.columns["", f"#s {i}"] = read_again(f"#s {i}", value)
        self.scope.source = source
        self.scope.uncertain = bool(self.keys)
        return self.scope

    def _open_set(self, chosen: list[int]) -> exp.Select:
        keys = tuple(self.keys[i] for i in chosen)
        asked = dict(self.asked)
        if self.keys or not asked:  # groups are those of all whom the question is about
            asked = {(): asked.pop((), Filtered([])), **asked}
        base, *others = asked.values()
        people = Aggregate("COUNT", None, PEOPLE)
        counted = [*base.aggregates, *([people] if self.keys or not base.aggregates else [])]
        title = self._note(base.where, counted, keys)
        made: list[exp.Expr] = []
        for i, key in enumerate(self.keys):
            there = i in chosen
            typed = (
                exp.null()
                if there
                else exp.cast(exp.null(), find_type(key.expression, self.schema))
            )
            shown: exp.Expr = column(key.name, title) if there else typed
            made.append(shown.as_(f"#key {i}", quoted=True))
            made.append(number(int(not there)).as_(f"#grouping {i}", quoted=True))
            self.scope.columns["", f"#grouping {i}"] = Known(column(f"#grouping {i}"))
            self.scope.columns["", f"#key {i}"] = self._know_key(i)
        made += [column(name, title) for a in base.aggregates for name in a.names]
        if self.keys:
            some = exp.GTE(this=column(f"{PEOPLE}_low", title), expression=number(1))
            made.append(exp.true().as_(KEPT, quoted=True))
            made.append((some if chosen else exp.true()).as_(SURE, quoted=True))
        joined: list[tuple[str, exp.Expr, list[Aggregate]]] = []
        for filtered in others:
            other = self._note(filtered.where, filtered.aggregates, keys)
            joined.append((other, named_table(other), filtered.aggregates))
        for filtered in self.distinct:
            counts = Aggregate("COUNT", None, filtered.alias)
            joined.append((filtered.alias, self._count_values(filtered, keys), [counts]))
        tree = select(*made).from_(named_table(title), copy=False)
        for other, source, aggregates in joined:
            tree.select(*(p for a in aggregates for p in _or_nobody(a, other)), copy=False)
            on = [exp.NullSafeEQ(this=column(key.name, title), expression=column(key.name, other))
                  for key in keys]  # fmt: skip
            kind = {"on": exp.and_(*on), "join_type": "LEFT"} if on else {"join_type": "CROSS"}
            tree.join(source, copy=False, **kind)  # type: ignore[arg-type]
        return tree

    def _note(
        self, where: list[exp.Expr], aggregates: list[Aggregate], keys: tuple[Term, ...]
    ) -> str:
        meant = [*self.where, *where]
        condition = exp.and_(*(part.copy() for part in meant)) if meant else None
        return self.note(Query(tuple(aggregates), condition, keys))

    def _count_values(self, filtered: Filtered, keys: tuple[Term, ...]) -> exp.Expr:
        """Count the values that people of a group have: surely, possibly, and as is expected."""
        assert filtered.told is not None
        told = filtered.told if filtered.told.name not in {k.name for k in keys} else None
        every = (*keys, filtered.told) if told else keys
        title = self._note(filtered.where, [Aggregate("COUNT", None, PEOPLE)], every)
        value, low, most = (column(PEOPLE + ending) for ending in ENDINGS[:3])
        high = exp.func("COALESCE", most, number(2**53))  # where nothing bounds how many have it

        def at_least_one(part: exp.Expr) -> exp.Expr:
            return case(exp.GTE(this=part, expression=number(1)), number(1), number(0))

        # a value that x people are expected to have is had by nobody with a chance of e^-x or so
        expected = add_up(1 - exp.Exp(this=exp.Neg(this=double(value))))
        somebody = at_least_one(add_up(low.copy()))
        fewest = exp.Greatest(this=add_up(at_least_one(low)), expressions=[somebody])
        largest = exp.Least(this=add_up(at_least_one(high)), expressions=[add_up(high.copy())])
        held = exp.Least(
            this=exp.Greatest(this=expected, expressions=[double(fewest.copy())]),
            expressions=[double(largest.copy())],
        )
        known = fewest.copy().eq(largest.copy())
        error = case(known, double(number(0)), nothing())
        parts = [held, fewest, largest, error, error.copy()]
        tree = select(*(column(key.name) for key in keys), *(
            part.as_(filtered.alias + ending, quoted=True)
            for part, ending in zip(parts, ENDINGS, strict=True)
        )).from_(named_table(title))  # fmt: skip
        if keys:
            tree = tree.group_by(*(column(key.name) for key in keys))
        return tree.subquery(exp.to_identifier(filtered.alias, quoted=True))


def _or_nobody(aggregate: Aggregate, table: str) -> list[exp.Expr]:
    """Nobody is counted as none where no row of a question tells of a group."""
    if aggregate.function != "COUNT":
        return [column(name, table) for name in aggregate.names]
    nobody = column(aggregate.alias, table).is_(exp.null())
    return [case(nobody.copy(), number(0), column(name, table)).as_(name, quoted=True)
            for name in aggregate.names]  # fmt: skip


def _roll_up(keys: list[int]) -> list[list[int]]:
    return [keys[:n] for n in range(len(keys), -1, -1)]


def _list_subsets(keys: list[int]) -> list[list[int]]:
    return [list(some) for n in range(len(keys), -1, -1) for some in combinations(keys, n)]
