"""Installing: a release put into a database, where any client finds estimates and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms import find_form
from discreet.forms.bounding import bound_count, bound_sum
from discreet.forms.expected import WEIGHT, check_names, expect
from discreet.release import Release, number_title
from discreet.release.about import ABOUT, tabulate_rows, tell
from discreet.release.cells import MOST_CELLS
from discreet.sql.catalogs import Contents, Function, find_catalog
from discreet.sql.engines import Session, connect

EXPECTED, ESTIMATE = "expected", "estimate"


@dataclass(frozen=True)
class Installation:
    """What was put into a database."""

    schema: str
    tables: list[str]
    views: dict[str, list[str]]
    """The attributes whose combinations each lists."""
    functions: list[str]
    left_out: dict[str, str]
    """Attributes that no view has and functions that are not there, and why."""
    weight: str = WEIGHT
    """The column of views that is to be added up."""


@dataclass
class _Plan:
    """What goes into a schema, as it is found."""

    release: Release
    session: Session
    contents: Contents
    shown: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add_view(self, names: list[str], *, with_function: bool) -> None:
        """Add what is expected of some attributes, and a function that bounds it."""
        title = number_title(EXPECTED, len(self.shown))
        tree, needed = expect(self.release, names)
        self._add_tables(needed)
        self.contents.views[title] = tree
        self.shown[title] = names
        function = number_title(ESTIMATE, len(self.shown) - 1)
        if not with_function:
            self.left_out[function] = "Spark has no functions that run a text."
            return
        form, weight = find_form(self.release.form), self.release.own(WEIGHT)
        try:
            pairs, needed = form.expect(self.release, names, paired=True)
            if not self.fits(pairs, needed):
                raise QueryError(f"There are more than {MOST_CELLS:,} pairs to bound by.")
        except QueryError as error:
            self.left_out[function] = error.message
            return
        self._add_tables(needed)
        self.contents.functions[function] = Function(
            bound_count(pairs, weight), bound_sum(pairs, weight)
        )

    def _add_tables(self, needed: dict[str, pl.DataFrame]) -> None:
        for title, table in needed.items():
            if not self.contents.tables.setdefault(title, table).equals(table):
                raise QueryError(
                    f"Two tables would be called {title!r}, after the names of attributes.",
                    hint="Leave one of the attributes out: --columns.",
                )

    def fits(self, tree: exp.Select, needed: dict[str, pl.DataFrame]) -> bool:
        """Whether a statement has few enough rows to be read whole by every question."""
        some = select(exp.Literal.number(1)).from_(tree.subquery("listed")).limit(MOST_CELLS + 1)
        counted = select(exp.Count(this=exp.Star())).from_(some.subquery("some"))
        rows = self.session.run(self.session.write(counted, needed)).item()
        return int(rows) <= MOST_CELLS

    def can_list(self, names: list[str]) -> bool:
        """Whether a view of some attributes is not too large."""
        return self.fits(*expect(self.release, names))


def install(
    release: Release,
    into: str,
    *,
    schema: str = "discreet",
    columns: Sequence[Sequence[str]] = (),
    overwrite: bool = False,
) -> Installation:
    """Put a release into a file of DuckDB, a PostgreSQL database or a catalog of Spark.

    Its tables go there as they are; ``about`` says what they are; ``expected`` lists what they
    leave possible of some attributes, by default of all if that is not too much, and else of as
    many as are, with more such views for the rest; ``estimate`` bounds what is asked of it.
    """
    catalog = find_catalog(into)
    with closing(connect(release.tables, None)) as session:
        plan = _Plan(release, session, Contents(dict(release.tables), {}, {}))
        for names in _check(plan, columns) if columns else _choose(plan):
            plan.add_view(names, with_function=catalog.keeps_functions)
    contents = plan.contents
    contents.tables[ABOUT] = _tell(plan)
    catalog.put(schema, contents, overwrite=overwrite)
    return Installation(
        schema, [*contents.tables], plan.shown, [*contents.functions], plan.left_out,
        release.own(WEIGHT),
    )  # fmt: skip


def _check(plan: _Plan, columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Refuse attributes that cannot be listed together."""
    asked = [check_names(plan.release, names) for names in columns]
    for names in asked:
        if not plan.can_list(names):
            raise QueryError(
                f"{', '.join(names)} have more than {MOST_CELLS:,} combinations.",
                hint="Choose fewer of them; --columns may be given several times.",
            )
    return asked


def _choose(plan: _Plan) -> list[list[str]]:
    """Choose attributes that are listed together: all, or those that fit beside the sensitive."""
    chosen: list[list[str]] = []
    for told in find_form(plan.release.form).tell_together(plan.release):
        names = [name for name in told if _can_be_listed(plan, name)]
        if names and plan.can_list(names):
            chosen.append(names)
            continue
        always = [name for name in names if name in plan.release.schema.sensitive]
        left = [name for name in names if name not in always]
        while left:
            view = [*always]
            for name in left:
                if plan.can_list([*view, name]):
                    view.append(name)
            if view == always:  # not even one
                for name in left:
                    plan.left_out[name] = f"It has more than {MOST_CELLS:,} combinations."
                break
            left = [name for name in left if name not in view]
            chosen.append([name for name in names if name in view])
    # what another list has all of tells nothing more
    return [one for i, one in enumerate(chosen)
            if not any(set(one) < set(other) or (one == other and i > j)
                       for j, other in enumerate(chosen))]  # fmt: skip


def _can_be_listed(plan: _Plan, name: str) -> bool:
    try:
        expect(plan.release, [name])
    except QueryError as error:
        plan.left_out[name] = error.message
        return False
    return True


def _tell(plan: _Plan) -> pl.DataFrame:
    """Say in words what is promised, and what everything in the schema is."""
    release, weight = plan.release, plan.release.own(WEIGHT)
    rows = tell(release)
    for title in plan.contents.tables:
        cells = "What each label of an attribute stands for, and which share of it each value is."
        rows.append(("table", title, release.about.get(title, cells)))
    rows.append(("table", ABOUT, "What is in this schema."))
    for title, names in plan.shown.items():
        rows.append((
            "view", title,
            f"Every combination of {', '.join(names)} that the release leaves possible, with its "
            f"expected {weight}: SUM({weight}) estimates COUNT(*), SUM({weight} * x) estimates "
            f"SUM(x), and SUM({weight} * x) / SUM({weight}) AVG(x).",
        ))  # fmt: skip
    for title in plan.contents.functions:
        rows.append((
            "function", title,
            f"SELECT * FROM {title}('age < 30') counts people and {title}('age < 30', 'wage') adds "
            "up: the estimate, and the bounds between which the truth lies, whatever table the "
            "release was made from.",
        ))  # fmt: skip
    rows += [("left out", name, why) for name, why in plan.left_out.items()]
    return tabulate_rows(rows)
