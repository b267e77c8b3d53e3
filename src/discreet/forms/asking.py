"""Answer: what a release says to a question, with its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.forms import find_form
from discreet.forms.over_releases import (
    DisagreementError,
    list_unknown_releases,
    pool,
    rename_tables,
)
from discreet.forms.ranking import mark_rows
from discreet.release.series import Series
from discreet.sql.coarse import refuse_coarse_aggregates, restate
from discreet.sql.dialects import Tables
from discreet.sql.engines import connect
from discreet.sql.expressions import find_local
from discreet.sql.hints import list_unknown
from discreet.sql.lookups import resolve_lookups
from discreet.sql.planning import PlannedQuestion, name_question, plan_question
from discreet.sql.query import ENDINGS, Query
from discreet.sql.reading import bounded_depth, refuse, show
from discreet.sql.script import write_script

if TYPE_CHECKING:
    from discreet.release import Release

ORDERED = ("MIN", "MAX", "QUANTILE")
LARGEST_FLOAT = 2**53
"""Up to here every whole number is a float of its own."""
DIALECTS = ("duckdb", "postgres", "spark")


@dataclass(frozen=True, eq=False)
class Answer:
    """Rows of the answer; per estimated column its bounds, standard error and width.

    The true value lies between low and high. The estimate is the mean, and the standard error the
    spread, over all shuffles of a permuted release, or over records spread evenly in the boxes of
    a generalized one. MIN and MAX, whose means have no closed form, have the middle of their
    bounds and no standard error. A rank-swapped release is read as if what it shows were true. From
    a perturbed one what was drawn at random is subtracted, and its spread is the standard error.
    Of numbers that were made coarser the estimate takes what is shown for true, without a standard
    error; a bound that does not exist, as with codes of top and bottom, is nothing.
    """

    columns: dict[str, bool]
    """The columns that were asked for, and whether each is estimated."""
    frame: pl.DataFrame
    sql: str
    tables: list[str]
    """The tables of the release that were asked."""
    left_out: int = 0
    """How many rows may belong to the answer besides, though by the estimates they do not."""
    notes: list[str] = field(default_factory=list)
    """What whoever asked may have meant."""
    coverage: str = ""
    """What is taken for granted in estimates and errors, and what is not."""

    @property
    def known(self) -> list[str]:
        """The columns that are known."""
        return [name for name, estimated in self.columns.items() if not estimated]

    @property
    def told(self) -> list[str]:
        """The columns that are estimated."""
        return [name for name, estimated in self.columns.items() if estimated]

    @property
    def marked(self) -> list[str]:
        """The columns that say whether a row belongs to the answer for certain."""
        ours = {*self.known, *(name + ending for name in self.told for ending in ENDINGS)}
        return [name for name in self.frame.columns if name not in ours]

    @property
    def parts(self) -> tuple[str, ...]:
        """What is told of each estimate; a width only where one is known."""
        wide = any(self.frame[f"{name}_width"].is_not_null().any() for name in self.told)
        return ENDINGS if wide else ENDINGS[:4]

    @property
    def is_open(self) -> bool:
        """Whether any bounds leave something open."""
        return any(self.frame[f"{n}_low"].ne_missing(self.frame[f"{n}_high"]).any()
                   for n in self.told)  # fmt: skip

    def _single(self, ending: str) -> float | None:
        if list(self.columns.values()) != [True] or self.frame.height != 1:
            raise QueryError(
                "The answer has more than one value.", hint="Read them from answer.frame."
            )
        value: float | None = self.frame[f"{next(iter(self.columns))}{ending}"].item()
        return value

    @property
    def estimate(self) -> float | None:
        """The expected value, for a question with one aggregate."""
        return self._single("")

    @property
    def low(self) -> float | None:
        """No true value is smaller."""
        return self._single("_low")

    @property
    def high(self) -> float | None:
        """No true value is larger."""
        return self._single("_high")

    @property
    def stderr(self) -> float | None:
        """Standard error over what was drawn at random."""
        return self._single("_stderr")

    @property
    def width(self) -> float | None:
        """How far from the estimate the truth may well be, where people are shown in boxes."""
        return self._single("_width")


def write_number(cell: object) -> str:
    """Write a number of an answer for people; what is not known is a dash.

    >>> write_number(1234.5), write_number(1234), write_number(None)
    ('1,234.50', '1,234', '–')
    """
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A question as one statement over the tables of a release, or of several."""

    release: Release | Series
    plan: PlannedQuestion
    tree: exp.Query
    needed: dict[str, pl.DataFrame]
    """Tables that it needs besides those of the release."""
    asked: list[tuple[Release, list[Query]]]
    """What each release is asked."""

    @property
    def query(self) -> Query | None:
        """The only question, where its answer is the answer."""
        return self.plan.questions[0] if self.plan.is_simple else None

    def answer(self, frame: pl.DataFrame, sql: str) -> Answer:
        """Read what an engine gave."""
        made, release = self.plan, self.release
        if (query := self.query) is not None:
            names = [*query.group_by, *(name for a in query.aggregates for name in a.names)]
        else:
            names = [part.alias_or_name for part in self.tree.selects]
        # databases may have cut or folded names
        frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
        if query is not None:
            assert isinstance(made.answers.tree, exp.Select)
            own = {part.alias: part.this.name for part in made.answers.tree.expressions}
            frame = frame.select(
                pl.col(name + ending if estimated else own[name]).alias(name + ending)
                for name, estimated in made.answers.columns.items()
                for ending in (ENDINGS if estimated else ENDINGS[:1])
            )
        frame, left_out = mark_rows(frame, made.ranking, decides=made.answers.decides)
        coverage = dict.fromkeys(find_form(one.form).coverage for one, _ in self.asked)
        return Answer(
            made.answers.columns, frame, sql, list_tables(self.tree, release), left_out,
            self._list_notes(), " ".join(filter(None, coverage)),
        )  # fmt: skip

    def _list_notes(self) -> list[str]:
        """Say what no release that is asked knows."""
        first, *others = (list_unknown(release, asked) for release, asked in self.asked)
        found = [note for note in first if all(note in other for other in others)]
        if isinstance(self.release, Series):
            found += list_unknown_releases(self.release, self.plan.questions)
        return found


def rewrite(
    release: Release | Series, text: str, own: Tables | None = None, *, elsewhere: bool = False
) -> Rewritten:
    """Read a question; give the statement over a release's tables, and other tables it needs.

    What engines ``elsewhere`` than in this process would read differently is refused for them.
    """
    with bounded_depth():
        if isinstance(release, Series):
            return _rewrite_series(release, text, own, elsewhere)
        made = plan_question(text, release.schema, _list_columns(own))
        parts = [_rewrite_one(release, query) for query in made.questions]
        return _put_together(release, made, parts, [(release, made.questions)], elsewhere)


def _list_columns(own: Tables | None) -> dict[str, list[str]]:
    return {name: list(table.columns) for name, table in (own or {}).items()}


def _rewrite_series(series: Series, text: str, own: Tables | None, elsewhere: bool) -> Rewritten:
    """Rewrite a question about a series.

    Where releases do not agree on what a column is, it may be about some that do.
    """
    if any(name.casefold() == "releases" for name in own or {}):
        raise QueryError("'releases' is the table of all releases.", hint="Rename yours.")
    refused: list[QueryError] = []
    for schema in series.schemas:
        try:
            made = plan_question(text, schema, _list_columns(own), series.by)
            parts = [pool(series, schema, query, _rewrite_one) for query in made.questions]
        except QueryError as error:
            refused.append(error)
            continue
        asked = {name: [part.asked[name] for part in parts if name in part.asked]
                 for name in series}  # fmt: skip
        if not any(asked.values()):
            raise QueryError(
                "The question is about none of the releases.", hint=f"They are {series.listed}."
            )
        told = [(series[name], questions) for name, questions in asked.items() if questions]
        trees = [(part.tree, part.needed) for part in parts]
        return _put_together(series, made, trees, told, elsewhere)
    raise next((e for e in refused if isinstance(e, DisagreementError)), refused[0])


def _put_together(
    release: Release | Series, made: PlannedQuestion, parts: Sequence[tuple[exp.Select, Tables]],
    asked: list[tuple[Release, list[Query]]], elsewhere: bool,
) -> Rewritten:  # fmt: skip
    """Make one statement of those that answer the questions."""
    trees: list[exp.Select] = []
    needed: dict[str, pl.DataFrame] = {}
    for tree, tables in parts:
        renamed = {}
        for name, table in tables.items():
            title = name
            while title in needed and needed[title] is not table:
                title += "'"
            renamed[name], needed[title] = title, table
        changed = {old: new for old, new in renamed.items() if old != new}
        trees.append(rename_tables(tree, changed))
    if made.is_simple:
        return Rewritten(release, made, trees[0], needed, asked)
    whole = made.answers.tree
    if elsewhere and (local := find_local(whole)) is not None:
        raise refuse(
            local, f"{show(local)} over an answer is read differently by engines",
            "Write it into GROUP BY, where it is of people, or ask without an engine.",
        )  # fmt: skip
    for i, tree in enumerate(trees):
        whole = whole.with_(exp.to_identifier(name_question(i), quoted=True), as_=tree, copy=False)
    return Rewritten(release, made, whole, needed, asked)


def _rewrite_one(release: Release, query: Query) -> tuple[exp.Select, Tables]:
    form = find_form(release.form)
    for aggregate in query.aggregates:
        if aggregate.function not in form.aggregates:
            raise QueryError(
                f"{aggregate.function} cannot be told from a {form.name} release.",
                hint=f"Ask for {', '.join(sorted(form.aggregates))}.",
            )
        if aggregate.function in ORDERED:
            _refuse_large(release, sorted(aggregate.columns))
    refuse_coarse_aggregates(query, release, bounded=form.spreads_coarse)
    query = query if form.spreads_coarse else restate(query, release)
    tree, needed = form.rewrite(query, release)
    return resolve_lookups(tree, release.tables, needed)


def _refuse_large(release: Release, names: list[str]) -> None:
    """Refuse whole numbers of which some forms would round the outermost to a float."""
    for name in names:
        for table in release.carriers.values():
            if name not in table.columns or not table[name].dtype.is_integer():
                continue
            if not table[name].is_between(-LARGEST_FLOAT, LARGEST_FLOAT).all():
                raise QueryError(
                    f"{name!r} has numbers beyond 2**53: their order cannot be told exactly.",
                    hint="Count people, or ask for sums.",
                )


def show_sql(release: Release | Series, text: str, dialect: str, own: Tables | None = None) -> str:
    """Write the rewritten statement for an engine, to be pasted into any client.

    Where it needs large tables besides the release's, statements that make them come first.
    """
    if dialect not in DIALECTS:
        raise QueryError(
            f"There is no dialect {dialect!r}.", hint=f"Give one of {', '.join(DIALECTS)}."
        )
    asked = rewrite(release, text, own, elsewhere=dialect != "duckdb")
    return write_script(asked.tree, dialect, release.tables, asked.needed)


def ask(
    release: Release | Series, text: str, engine: str | None = None, own: Tables | None = None
) -> Answer:
    """Put a question to a release, on DuckDB or on the database or cluster at ``engine``."""
    asked = rewrite(release, text, own, elsewhere=engine is not None)
    with closing(connect(release.tables, engine, own)) as session:
        statement = session.write(asked.tree, asked.needed)
        return asked.answer(session.run(statement), statement.sql)


def list_tables(tree: exp.Expr, release: Release | Series) -> list[str]:
    """Give the release's tables that a statement reads, people's own table first.

    Where it reads only what follows from tables, those of people.
    """
    read = {table.name for table in tree.find_all(exp.Table)}
    found = [name for name in release.tables if name in read] or list(release.shown)
    return sorted(found, key=lambda name: name not in release.shown)
