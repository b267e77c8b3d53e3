"""The analyst's commands beyond SQL: crosstab, histogram, regress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, Overwrite, ReleaseFolder, app
from discreet.cli.screen import make_table, print_json, show, working
from discreet.errors import QueryError
from discreet.steward.outputs import refuse_outputs

Chart = Annotated[
    Path | None, typer.Option(help="Draw it, into a file that ends in .html or .svg.")
]
HEADS = ("estimate", "at least", "at most", "std. error", "width")


@app.command()
def crosstab(
    release: ReleaseFolder,
    rows: Annotated[str, typer.Option(help="An attribute.")],
    columns: Annotated[str, typer.Option(help="Another one.")],
    measure: Annotated[
        str | None, typer.Option(help="An aggregate, such as AVG(wage), instead of COUNT(*).")
    ] = None,
    chart: Chart = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Ask for every combination of two attributes, with hard bounds and errors."""
    from discreet.release.store import load

    _check_chart(chart, release, overwrite=overwrite)
    with working("Asking"):
        found = load(release).crosstab(rows, columns, measure)
    _print(found, [found.rows, found.columns], json)
    _draw(found, chart)


@app.command()
def histogram(
    release: ReleaseFolder,
    attribute: Annotated[str, typer.Argument(help="What people are counted by.")],
    by: Annotated[str | None, typer.Option(help="Another attribute to tell them apart by.")] = None,
    bins: Annotated[int | None, typer.Option(help="About how many bins, of a number.")] = None,
    chart: Chart = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Count people by the values of an attribute, numbers in bins."""
    from discreet.release.store import load

    _check_chart(chart, release, overwrite=overwrite)
    with working("Asking"):
        found = load(release).histogram(attribute, by, bins)
    ends = ["from", "below"] if "from" in found.frame.columns else [found.attribute]
    _print(found, [*ends, *([found.by] if found.by else [])], json)
    _draw(found, chart)


@app.command()
def regress(
    release: ReleaseFolder,
    formula: Annotated[str, typer.Argument(help='Such as "wage ~ age + sex".')],
    family: Annotated[
        str | None, typer.Option(help="gaussian (least squares) or binomial (logistic).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw the same again.")] = None,
    json: Json = False,
) -> None:
    """Fit how an attribute depends on others, with errors that include the release's own."""
    from discreet.release.store import load

    with working("Fitting"):
        fit = load(release).regress(formula, family=family, seed=seed)
    if json:
        said = {"formula": fit.formula, "family": fit.family, "n": fit.n}
        told = {"r_squared": fit.r_squared, "notes": fit.notes}
        print_json({**said, "terms": fit.frame.to_dicts(), **told})
        return
    table = make_table("term", "estimate", "std. error", "low", "high", "lost")
    for term, *numbers, lost in fit.frame.iter_rows():
        table.add_row(term, *(f"{number:,.5g}" for number in numbers), f"{lost:.0%}")
    show(table)
    explained = "" if fit.r_squared is None else f"; R² {fit.r_squared:.3f}"
    show(f"{fit.formula} ({fit.family}), {fit.n:,} records{explained}.")
    for note in fit.notes:
        show(f"Note: {note}")


def _print(found: Any, keys: list[str], json: bool) -> None:
    from discreet.forms.asking import write_number

    if json:
        print_json({"rows": found.frame.to_dicts()})
        return
    table = make_table(*keys, *HEADS)
    for row in found.frame.iter_rows(named=True):
        numbers = (row[name] for name in ("estimate", "low", "high", "stderr", "width"))
        table.add_row(*(str(row[key]) for key in keys), *map(write_number, numbers))
    show(table)


def _check_chart(chart: Path | None, release: Path, *, overwrite: bool) -> None:
    """Refuse a chart that could not be drawn or written before any work."""
    if chart is None:
        return
    if chart.suffix not in (".html", ".svg"):
        raise QueryError(f"{chart}: no chart is written so.", hint="End it in .html or .svg.")
    from discreet.evaluate.charts import require_charts

    require_charts()
    refuse_outputs([chart], inputs=[release], overwrite=overwrite)


def _draw(found: Any, chart: Path | None) -> None:
    if chart is not None:
        from discreet.evaluate.charts import save_chart

        show(f"Drawn: {save_chart(found.chart(), chart)}")
