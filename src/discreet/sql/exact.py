"""What questions share over releases whose quasi-identifiers are exact."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.sql.query import Aggregate, Query, find_columns
from discreet.sql.trees import case, double, name_part, nothing, number
from discreet.table.schema import Role, Schema

FUNCTIONS: dict[str, type[exp.Expr]] = {
    "COUNT": exp.Count, "SUM": exp.Sum, "AVG": exp.Avg, "MIN": exp.Min, "MAX": exp.Max
}  # fmt: skip


def split_conditions(query: Query, sensitive: str) -> tuple[list[exp.Expr], exp.Expr | None]:
    """Part the predicate into what is about exact columns, and about the sensitive number."""
    exact: list[exp.Expr] = []
    about: list[exp.Expr] = []
    for part in query.conditions:
        names = set(find_columns(part))
        if sensitive in names and len(names) > 1:
            raise QueryError(
                f"{part.sql()!r} ties {sensitive!r} to an exact column.",
                hint="Join conditions on the two by AND.",
            )
        (about if sensitive in names else exact).append(part)
    return exact, exp.and_(*(part.copy() for part in about)) if about else None


def is_exact(aggregate: Aggregate, schema: Schema) -> bool:
    """Whether a column is published as it is, so that its aggregates are, too."""
    return aggregate.term is not None and all(
        schema[name].role is not Role.SENSITIVE for name in aggregate.columns
    )


def aggregate_column(function: str, argument: exp.Expr) -> exp.Expr:
    """Apply an aggregate by its name."""
    return FUNCTIONS[function](this=double(argument) if function == "AVG" else argument)


def state_exactly(value: exp.Expr) -> list[exp.Expr]:
    """Give a value as its own estimate and bounds: no error, or nothing where it is nothing."""
    error = case(value.copy().is_(exp.null()), exp.null(), number(0))
    return [value, value.copy(), value.copy(), error, double(error.copy())]


def name_parts(aggregate: Aggregate, parts: list[exp.Expr]) -> list[exp.Expr]:
    """Give estimate, bounds, standard error and width of an aggregate their names.

    Where no width is given there is none.
    """
    given = parts if len(parts) == len(aggregate.names) else [*parts, nothing()]
    typed = [nothing() if isinstance(part, exp.Null) else part for part in given]
    return [name_part(part, name) for part, name in zip(typed, aggregate.names, strict=True)]
