"""Regression: how an attribute depends on others, from a release alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.analysis.augmentation import ENOUGH, MATTERS, Augmentation, count_independent
from discreet.analysis.corrected import correct_moments
from discreet.analysis.design import INTERCEPT, DesignBlock, code_regressor, code_response
from discreet.analysis.equation import Equation
from discreet.analysis.formula import read_formula
from discreet.analysis.imputation import Combined, pool
from discreet.analysis.models import choose_model
from discreet.errors import QueryError
from discreet.forms import find_form
from discreet.table.arrays import Floats
from discreet.table.coarsening import describe_coarsening

if TYPE_CHECKING:
    from discreet.forms.incomplete import Incomplete
    from discreet.release import Release

SETTLED = 20
"""Of draws worth fewer independent ones an error is not known well."""
MUCH = 0.5
"""Of a coefficient that lost more of what the microdata say, it is said."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, with standard errors of people and of what the release leaves open."""

    formula: str
    family: str
    frame: pl.DataFrame
    """Per term its estimate, stderr, the ends (low, high) of the 95 % interval, and lost: the
    share of the variance that is due to the release."""
    n: int
    """Records in which nothing is missing."""
    r_squared: float | None
    notes: list[str]
    """What is assumed, and what is not known well."""

    def __getitem__(self, term: str) -> float:
        """Give the estimate of one coefficient."""
        found = self.frame.filter(pl.col("term") == term)
        if found.height != 1:
            raise QueryError(
                f"There is no coefficient of {term!r}.",
                hint=f"There are: {', '.join(self.frame['term'])}.",
            )
        return float(found["estimate"].item())

    def __repr__(self) -> str:
        """Write it as a table."""
        wide = max(len(term) for term in self.frame["term"])
        lines = [f"{self.formula} ({self.family}, {self.n:,} records)"]
        heads = ("estimate", "stderr", "low", "high", "lost")
        lines.append(" " * wide + "".join(f"{head:>12}" for head in heads))
        for term, *numbers, lost in self.frame.iter_rows():
            cells = "".join(f"{number:>12.5g}" for number in numbers)
            lines.append(f"{term:<{wide}}{cells}{lost:>12.0%}")
        if self.r_squared is not None:
            lines.append(f"R² {self.r_squared:.3f}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])


def regress(
    release: Release, formula: str, family: str | None = None, seed: int | None = None
) -> Fit:
    """Fit ``wage ~ age + sex``: least squares of a number, or the odds of one of two values.

    >>> import discreet as dc
    >>> data = dc.datasets.census(2000, sensitive=["income"])
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=5, e=1000)))
    >>> fit = release.regress("income ~ age + sex", seed=1)
    >>> fit.frame.columns
    ['term', 'estimate', 'stderr', 'low', 'high', 'lost']
    """
    read = read_formula(formula, release.schema)
    names = [read.response, *read.regressors]
    records = find_form(release.form).open_records(release, names)
    if records.apart is not None:
        raise QueryError(
            f"{records.apart[0].upper()}{records.apart[1:]}.",
            hint="Fit attributes of one column.",
        )
    response, family = code_response(records, release.schema[read.response], family)
    regressors = {name: code_regressor(records, release.schema[name]) for name in read.regressors}
    terms = [INTERCEPT, *(term for coded in regressors.values() for term in coded.terms)]
    notes = _list_assumptions(release, records, names, response, regressors, family)
    if records.noise:
        if family != "gaussian":
            noisy = next(iter(records.noise))
            raise QueryError(
                f"{noisy!r} was drawn at random for some: a logistic fit with it is not known.",
                hint="Fit least squares, or leave it out.",
            )
        found, within, explained, n = correct_moments(records, read.response, response, regressors)
        pooled = [pool(found[i], within[i, i], 0, np.inf, n) for i in range(len(terms))]
        return Fit(str(read), family, _list_terms(terms, pooled), n, explained, notes)
    rng = np.random.default_rng(seed)
    model = choose_model(family, is_open=records.is_open)
    asked = Equation(read.response, response, regressors, model)
    drawn = Augmentation(records, asked, _turn_around(release, records, asked), rng).run()
    spread = drawn.coefficients.var(axis=0)
    worth = count_independent(drawn.coefficients)
    free = drawn.n - len(terms)
    means = drawn.coefficients.mean(axis=0)
    pooled = [
        pool(float(means[i]), float(drawn.within[i, i]), float(spread[i]), float(worth[i]), free)
        for i in range(len(terms))
    ]
    notes += _list_doubts(terms, [one.lost for one in pooled], worth)
    frame = _list_terms(terms, pooled)
    return Fit(str(read), family, frame, round(drawn.n), drawn.explained, notes)


def _turn_around(release: Release, records: Incomplete, asked: Equation) -> Equation:
    """Give the equation by which to draw what is open: one that explains a number not in boxes.

    People are spread evenly in a box before anything else is known of them, and not as a normal
    density says whose mean is what is asked for. So where the response is in boxes, a regressor
    that is not is explained by it, for the draws alone.
    """
    if asked.target not in records.cells:
        return asked
    for name in asked.regressors:
        attribute = release.schema[name]
        if name not in records.cells and attribute.type.numeric:
            others = [asked.target, *(other for other in asked.regressors if other != name)]
            response, family = code_response(records, attribute, None)
            regressors = {n: code_regressor(records, release.schema[n]) for n in others}
            return Equation(name, response, regressors, choose_model(family, is_open=True))
    return asked


def _list_terms(terms: list[str], pooled: list[Combined]) -> pl.DataFrame:
    numbers = ("estimate", "stderr", "low", "high", "lost")
    columns = {name: [getattr(one, name) for one in pooled] for name in numbers}
    return pl.DataFrame({"term": terms, **columns})


def _list_assumptions(
    release: Release,
    records: Incomplete,
    names: list[str],
    response: DesignBlock,
    regressors: dict[str, DesignBlock],
    family: str,
) -> list[str]:
    """Say what is fitted, and what is assumed of what the release leaves open."""
    notes = []
    if family == "binomial":
        notes.append(f"What is explained is {response.terms[0]}.")
    levels = [f"{name} = {c.reference}" for name, c in regressors.items() if c.reference]
    if levels:
        notes.append(f"Compared with {', '.join(levels)}.")
    residuals = "residuals are normal and of one spread" if family == "gaussian" else (
        "the odds are as fitted")  # fmt: skip
    if records.cells:
        notes.append(
            f"People are taken to be spread evenly in what is shown of {_join(records.cells)}."
        )
    if records.dealt or records.near:
        told = [n for deal in records.dealt for n in deal.names] + list(records.near)
        notes.append(
            f"Whose {_join(told)} is whose is not known; what is likely is, if {residuals}."
        )
    if records.caution is not None:
        notes.append(f"{records.caution}.")
    if records.noise:
        notes.append(f"What was drawn at random is taken out of {_join(records.noise)}.")
    for name in names:
        coarser = describe_coarsening(release.schema[name])
        if coarser:
            notes.append(f"{name} was made coarser before, and is fitted as shown: {coarser}.")
    if release.schema.weight is not None:
        notes.append(f"Records count alike: the weight {release.schema.weight!r} is not used.")
    return notes


def _list_doubts(terms: list[str], lost: list[float], worth: Floats) -> list[str]:
    """Say which coefficients are not known well."""
    notes = []
    much = [term for term, share in zip(terms[1:], lost[1:], strict=True) if share > MUCH]
    if much:
        notes.append(
            f"Most of what the microdata say of {_join(much)} is not in the release: estimates "
            "lean on the assumptions."
        )
    fewest = worth[np.array(lost) > MATTERS].min(initial=np.inf)
    if fewest < SETTLED:
        notes.append(
            f"Draws had not settled: they are worth {fewest:.0f} independent ones, and "
            f"{ENOUGH} are wanted. Errors may be too small."
        )
    return notes


def _join(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
