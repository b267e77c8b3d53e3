"""Planning: a statement → questions to a form, and a statement over their answers.

People are rows of ``release``, or of a subquery that only selects or computes: such are read into
the questions. Where people are grouped there are answers, with known and estimated columns, and
everything beyond is a statement over these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp, select

from discreet.errors import QueryError, name_closest
from discreet.sql.aggregates import find_aggregates, refuse_alone
from discreet.sql.expressions import name_column, read_expression
from discreet.sql.finishing import Ranking, filter_rows, finish, group_again
from discreet.sql.grouping import Grouping
from discreet.sql.intervals import lift
from discreet.sql.query import Query
from discreet.sql.reading import bounded_depth, read_statement, refuse
from discreet.sql.relations import (
    Answers,
    Items,
    People,
    Relation,
    join_answers,
    name_items,
    open_answers,
    open_parentheses,
    read_distinct,
    refuse_twice,
    rename_columns,
    unite,
)
from discreet.sql.scopes import Scope
from discreet.sql.trees import column
from discreet.table.schema import Schema

CLAUSES = {
    "expressions", "from_", "where", "group", "kind", "having", "order", "limit", "offset",
    "with_", "joins", "qualify", "distinct", "operation_modifiers",
}  # fmt: skip
BEYOND = ("having", "order", "limit", "offset", "qualify", "distinct")
"""Clauses that need more than the answer to a question."""
DECIDING = (
    exp.Having, exp.Qualify, exp.Subquery, exp.CTE, exp.Window, exp.Coalesce, exp.Nullif, exp.Case,
    exp.If, exp.Is, exp.Greatest, exp.Least,
)  # fmt: skip
"""What goes by whether there is a number at all."""


@dataclass
class PlannedQuestion:
    """What has to be asked, and the statement over the answers."""

    questions: list[Query] = field(default_factory=list)
    answers: Answers = field(default_factory=lambda: Answers(select(), {}))
    ranking: Ranking | None = None
    is_simple: bool = False
    """Whether the answer to the only question is the answer to all."""

    def note(self, query: Query) -> str:
        """Note a question, and give the name of the table of its answer."""
        for i, known in enumerate(self.questions):
            if known == query:
                return name_question(i)
        self.questions.append(query)
        return name_question(len(self.questions) - 1)


def name_question(place: int) -> str:
    """Give the name under which the answer to a question stands in a statement."""
    return f"#question {place}"


def plan_question(
    text: str, schema: Schema, own: Mapping[str, list[str]] | None = None, by: str | None = None
) -> PlannedQuestion:
    """Read a question, or say at which place it goes beyond what can be answered.

    Tables of the analyst's ``own`` may be joined with answers; their columns are given. Several
    releases are one table with a column ``by`` that tells them apart.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),
    ...                  Attribute("pay", Role.SENSITIVE, Type.INTEGER)))
    >>> made = plan_question("SELECT AVG(pay) / MAX(pay) AS r FROM release WHERE age > 30", schema)
    >>> [a.function for a in made.questions[0].aggregates], made.answers.columns
    (['AVG', 'MAX'], {'r': True})
    """
    known = {name.lower(): names for name, names in (own or {}).items()}
    planner = Planner(schema, known, by)
    with bounded_depth():
        statement = read_statement(text)
        planner.is_watched = statement.find(*DECIDING) is not None
        found = planner.plan_query(statement, {}, top=True)
    if isinstance(found, People):
        raise refuse_alone(list(found.columns))
    planner.made.answers = found
    return planner.made


@dataclass
class Planner:
    """Reads one statement."""

    schema: Schema
    own: Mapping[str, list[str]]
    by: str | None = None
    made: PlannedQuestion = field(default_factory=PlannedQuestion)
    is_watched: bool = True

    @property
    def title(self) -> str:
        """The table that people are rows of."""
        return "release" if self.by is None else "releases"

    def _refuse_table(self, node: exp.Expr, hint: str | None = None) -> QueryError:
        shown = f": {node.sql()}" if hint else ""
        return refuse(node, f"the table asked is not {self.title!r}{shown}",
                      hint or f"Write FROM {self.title}.")  # fmt: skip

    def plan_query(
        self, query: exp.Expr, known: dict[str, Relation], *, top: bool = False
    ) -> Relation:
        """Plan a SELECT, or several of them, where some subqueries have names."""
        while isinstance(query, exp.Subquery):
            query = open_parentheses(query)
        known = dict(known)
        if with_ := query.args.get("with_"):
            if with_.args.get("recursive"):
                raise refuse(query, "WITH RECURSIVE cannot be answered", "Ask level by level.")
            for clause in with_.expressions:
                found = self.plan_query(clause.this, known)
                known[clause.alias.lower()] = rename_columns(found, clause)
        if isinstance(query, exp.Union) and query.args.get("distinct") in (None, False):
            if any(query.args.get(name) for name in ("order", "limit", "offset", "by_name")):
                raise refuse(
                    query, "ORDER BY, LIMIT and BY NAME of a UNION ALL cannot be answered",
                    "Put it into a subquery: SELECT * FROM (… UNION ALL …) ORDER BY …; columns "
                    "are taken by their places.",
                )  # fmt: skip
            sides = [self.plan_query(side, known) for side in (query.this, query.expression)]
            if isinstance(sides[0], Answers) and isinstance(sides[1], Answers):
                return unite(query, sides[0], sides[1])
            raise refuse_alone([])
        if not isinstance(query, exp.Select):
            raise refuse(
                query, f"{type(query).__name__.upper()} cannot be answered",
                "Use SELECT, and UNION ALL between several.",
            )  # fmt: skip
        return self._plan_select(query, known, top=top)

    def _plan_select(self, query: exp.Select, known: dict[str, Relation], *, top: bool) -> Relation:
        for name, part in query.args.items():
            if part and name not in CLAUSES:
                raise refuse(query, f"{name.rstrip('_').upper()} cannot be answered from a release")
        source = query.args.get("from_")
        if source is None:
            raise self._refuse_table(query)
        relation, alias = self._read_source(source.this, known)
        joins = query.args.get("joins") or []
        if joins:
            sides = [(relation, alias), *(self._read_source(join.this, known) for join in joins)]
            answers = [(side, name) for side, name in sides if isinstance(side, Answers)]
            if len(answers) < len(sides):
                raise refuse(
                    source, "people's rows cannot be joined with other tables",
                    "Group first: … FROM (SELECT region, COUNT(*) AS n FROM release GROUP BY "
                    "region) r JOIN mine USING (region).",
                )  # fmt: skip
            return self._plan_answers(query, *join_answers(answers, joins), top=top)
        if isinstance(relation, People):
            return self._plan_people(query, relation, alias, known, top=top)
        scope = open_answers(relation, alias)
        return self._plan_answers(query, scope, relation.decides, top=top)

    def _read_source(self, source: exp.Expr, known: dict[str, Relation]) -> tuple[Relation, str]:
        if isinstance(source, exp.Subquery):
            found = self.plan_query(open_parentheses(source), known)
            return rename_columns(found, source), source.alias
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier) or any(
            part for name, part in source.args.items() if name not in ("this", "alias", "db")
        ):  # fmt: skip
            raise self._refuse_table(source)
        alias = source.alias or source.name
        found = self._find_table(source, known)
        return rename_columns(found, source), alias

    def _find_table(self, source: exp.Table, known: dict[str, Relation]) -> Relation:
        title = ".".join(part.lower() for part in (source.db, source.name) if part)
        if title in known:
            return known[title]
        if title in self.own:
            names = self.own[title]
            table = source.copy()
            table.set("alias", None)
            tree = select(*(column(name) for name in names)).from_(table)
            return Answers(tree, dict.fromkeys(names, False))
        if title != self.title:
            hint = name_closest(title, [self.title, *known, *self.own])
            raise self._refuse_table(source, hint)
        return People({n: exp.column(n, quoted=True) for n in self.schema.names})

    # rows of people

    def _plan_people(
        self, query: exp.Select, people: People, alias: str, known: dict[str, Relation], *,
        top: bool,
    ) -> Relation:  # fmt: skip
        read = self._read_people(people, alias)
        items = name_items(_list_selected(query, list(people.columns)))
        named = dict(items)
        where = list(people.where)
        if clause := query.args.get("where"):
            where.append(read(_spell_out(clause.this, named, list(people.columns))))
        group, distinct = query.args.get("group"), read_distinct(query)
        later = [_spell_out(query.args[name].this, named, list(people.columns))
                 for name in ("having", "qualify") if query.args.get(name)]  # fmt: skip
        wanted = [item for _, item in items]
        grouped = group or distinct or any(find_aggregates(part) for part in [*wanted, *later])
        if not grouped:
            if any(query.args.get(name) for name in BEYOND):
                raise refuse_alone(list(named))
            return People({name: read(item) for name, item in items}, tuple(where))
        if distinct and not group and not any(map(find_aggregates, wanted)):
            group = exp.Group(expressions=[item.copy() for item in wanted])
            query = query.copy()
            query.set("distinct", None)
        grouping = Grouping(self.schema, self.made.note, where, read, is_watched=self.is_watched)
        grouping.read_group(group, items, list(people.columns))
        if top and (simple := self._plan_simply(query, grouping, items)):
            return simple
        orders = [part.this for part in query.args["order"].expressions] if (
            query.args.get("order")) else []  # fmt: skip
        spoken = {id(node): _spell_out(node, named, [] if isinstance(node, exp.Column) else
                                       list(people.columns)) for node in orders
                  if not node.is_int and node.name.upper() != "ALL"}  # fmt: skip
        placed = {}
        for node, meant in [*((i, i) for i in wanted), *((n, spoken[id(n)]) for n in orders
                            if id(n) in spoken), *((part, part) for part in later)]:  # fmt: skip
            placed[id(node)] = grouping.place(self._place_scalars(meant, grouping, known))
        scope, decides = grouping.open(), False
        if query.args.get("having"):
            scope, decides = filter_rows(scope, placed[id(later[0])], decides)
        qualify = placed[id(later[-1])] if query.args.get("qualify") else None
        shown = [(name, placed[id(item)]) for name, item in items]
        found, ranking = finish(query, scope, shown, decides, qualify,
                                lambda node: placed[id(node)], top=top)  # fmt: skip
        self.made.ranking = ranking or self.made.ranking
        return found

    def _read_people(self, people: People, alias: str) -> Callable[[exp.Expr], exp.Expr]:
        """Read what is written of people in terms of the attributes of the release."""
        names = {name.lower(): name for name in people.columns}
        known = {"", self.title, alias.lower()}

        def read(node: exp.Expr) -> exp.Expr:
            held = exp.Paren(this=node.copy())
            for found in list(held.find_all(exp.Column)):
                if found.table.lower() not in known:
                    raise refuse(found, f"there is no table {found.table!r}", "Leave it out.")
                written = found.name
                if written in people.columns or written.lower() in names:
                    own = people.columns.get(written)
                    meant = own if own is not None else people.columns[names[written.lower()]]
                    plain = isinstance(meant, exp.Column)
                    found.replace(meant.copy() if plain else exp.Paren(this=meant.copy()))
                else:
                    attribute = name_column(found, self.schema)
                    if attribute not in people.columns:
                        raise refuse(found, f"there is no column {written!r} here",
                                     name_closest(written, list(people.columns)))  # fmt: skip
                    found.replace(people.columns[attribute].copy())
            return read_expression(held.unnest(), self.schema, self.by)

        return read

    def _place_scalars(
        self, node: exp.Expr, grouping: Grouping, known: dict[str, Relation]
    ) -> exp.Expr:
        """Plan the subqueries that stand for single numbers."""
        held = exp.Paren(this=node.copy())
        for inner in _list_scalars(held):
            found = self.plan_query(inner.this, known)
            if isinstance(found, People) or len(found.columns) != 1 or not _gives_one(inner.this):
                raise refuse(inner, "a subquery that stands for a number gives more than one",
                             "Let it ask for one aggregate, without GROUP BY.")  # fmt: skip
            inner.replace(exp.column(f"#s {len(grouping.scalars)}", quoted=True))
            grouping.scalars.append(found)
        placed: exp.Expr = held.this
        return placed.pop()

    def _plan_simply(self, query: exp.Select, grouping: Grouping, items: Items) -> Answers | None:
        """Let one question answer it all, where keys and aggregates are all that is selected."""
        if any(query.args.get(name) for name in BEYOND) or len(grouping.sets) > 1:
            return None
        trial = replace(grouping, asked={}, distinct=[], terms=dict(grouping.terms),
                        scope=Scope(exp.null(), {}, uncertain=False), is_watched=False)  # fmt: skip
        placed = []
        for name, item in items:
            if item.find(exp.Query):
                return None
            found = trial.place(item)
            if not isinstance(found, exp.Column):
                return None
            placed.append((name, trial.scope.columns["", found.name]))
        if set(trial.asked) != {()} or trial.distinct or trial.scope.layers:
            return None
        plain = {a.alias: a for a in trial.asked[()].aggregates}
        keys = {f"#key {i}": key for i, key in enumerate(grouping.keys)}
        columns, aggregates, shown = {}, [], []
        for name, value in placed:
            title = lift(value).value.name
            columns[name] = title in plain
            if title in plain:
                aggregates.append(replace(plain[title], alias=name))
            shown.append(column(keys[title].name if title in keys else name).as_(name, quoted=True))
        refuse_twice(columns, [name for name, _ in placed])
        hidden = {key.name for key in grouping.keys}
        if hidden & {n for a in aggregates for n in a.names}:
            return None
        condition = exp.and_(*(part.copy() for part in grouping.where)) if grouping.where else None
        self.made.note(Query(tuple(aggregates), condition, tuple(grouping.keys)))
        self.made.is_simple = True
        return Answers(select(*shown), columns)

    # rows of answers

    def _plan_answers(
        self, query: exp.Select, scope: Scope, decides: bool, *, top: bool
    ) -> Answers:
        names = [name for _, name in scope.columns]
        items = name_items(_list_selected(query, names, list(scope.columns)))
        named = dict(items)
        parts = [item for _, item in items]
        if any(part.find(exp.Query) for part in [*parts, query.args.get("where") or exp.null()]):
            raise refuse(
                query, "a subquery cannot stand here", "Give it a name by WITH, and join it."
            )
        if where := query.args.get("where"):
            scope, decides = filter_rows(scope, _spell_out(where.this, named, names), decides)

        def place(node: exp.Expr) -> exp.Expr:
            return _spell_out(node, named, names)

        having, qualify = (query.args.get(name) for name in ("having", "qualify"))
        group, aggregated = query.args.get("group"), any(map(find_aggregates, parts))
        windows = qualify or any(part.find(exp.Window) for part in parts)
        if read_distinct(query) and scope.uncertain and not (group or aggregated or windows):
            group = exp.Group(expressions=[part.copy() for part in parts])
            query = query.copy()
            query.set("distinct", None)
        if group or aggregated:
            wanted = [*items, *([("#having", place(having.this))] if having else [])]
            scope, placed = group_again(scope, group, wanted)
            items = placed[: len(items)]
            if having:
                scope, decides = filter_rows(scope, placed[-1][1], decides)
        elif having:
            scope, decides = filter_rows(scope, place(having.this), decides)
        beyond = place(qualify.this) if qualify else None
        found, ranking = finish(query, scope, items, decides, beyond, place, top=top)
        self.made.ranking = ranking or self.made.ranking
        return found


def _gives_one(query: exp.Expr) -> bool:
    """Whether a query gives one row, whatever there is: it aggregates, and nothing else."""
    several = ("group", "having", "qualify", "limit", "offset", "distinct")
    return (
        isinstance(query, exp.Select)
        and any(map(find_aggregates, query.expressions))
        and not any(query.args.get(name) for name in several)
    )


def _list_scalars(held: exp.Expr) -> list[exp.Expr]:
    """Give the subqueries that stand for numbers, and not those inside of them."""
    found: list[exp.Expr] = []
    left = [held]
    while left:
        node = left.pop()
        if isinstance(node, exp.Subquery):
            found.append(node)
        else:
            left += reversed(list(node.iter_expressions()))
    return found


def _list_selected(
    query: exp.Select, names: list[str], owned: list[tuple[str, str]] | None = None
) -> list[exp.Expr]:
    """Give what is selected, with every column where a star stands; or those of a table."""
    found: list[exp.Expr] = []
    for item in query.expressions:
        star = isinstance(item, exp.Star) or (
            isinstance(item, exp.Column) and isinstance(item.this, exp.Star))  # fmt: skip
        if star and any(item.args.get(name) for name in ("except_", "replace", "rename")):
            raise refuse(item, f"{item.sql()} cannot be read", "Name the columns.")
        table = item.table.lower() if isinstance(item, exp.Column) else ""
        if not star:
            found.append(item)
        elif table and owned is not None:
            found += [exp.column(name, table=owner, quoted=True)
                      for owner, name in owned if owner == table]  # fmt: skip
        else:
            found += [exp.column(name, quoted=True) for name in names]
    return found


def _spell_out(node: exp.Expr, named: dict[str, exp.Expr], names: list[str]) -> exp.Expr:
    """Write what names of the answer stand for, where no column is called so."""
    known = {name.lower() for name in names}
    meant = {name.lower(): item for name, item in named.items()}
    held = exp.Paren(this=node.copy())
    inside = {id(c) for query in _list_scalars(held) for c in query.find_all(exp.Column)}
    for found in [c for c in held.find_all(exp.Column) if id(c) not in inside]:
        name = found.name.lower()
        if not found.table and name not in known and name in meant:
            found.replace(exp.paren(meant[name].copy()))
    spelled: exp.Expr = held.this
    return spelled.pop()
