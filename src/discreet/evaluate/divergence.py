"""Divergence: how far the distribution a release stands for is from the true one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, SchemaError
from discreet.forms import View
from discreet.forms.grouped import PROBABILITY
from discreet.forms.reconstruction import reconstruct
from discreet.release import Release, Transformation
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

MOST_POINTS = 200_000
"""More points are not listed for a side measure."""


def measure_divergence(
    release: Release, data: Microdata, names: Sequence[str] | None = None
) -> float:
    """Measure KL(D ‖ D*) in nats: Σ D·ln(D/D*) over the points of the microdata.

    D is the distribution of the microdata over the named attributes (by default all), D* the one
    rebuilt from the release (Equation 7). The other way round it is infinite: D* gives weight to
    points that nobody is at.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(200)
    >>> exact = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    >>> abs(measure_divergence(exact, data)) < 1e-9
    True
    """
    if len(release.schema.sensitive) != 1:
        raise SchemaError(
            f"The release has {len(release.schema.sensitive)} sensitive attributes.",
            hint="Divergence is measured with exactly one.",
        )
    (sensitive,) = release.schema.sensitive
    known = release.schema.quasi_identifiers
    wanted = [*known, sensitive] if names is None else list(names)
    views = {
        tuple(v.release.schema.quasi_identifiers): v
        for v in release.views
        if sensitive in v.release.schema.names
    }
    view = views.get(tuple(n for n in known if n in wanted))
    found = None
    if sensitive in wanted and view is not None:
        found = _diverge_in_boxes(view, data, sensitive)
    return _diverge_in_cells(release, data, wanted) if found is None else found


def diverge_in_part(release: Release, data: Microdata) -> float | None:
    """Measure it over the two quasi-identifiers of fewest values and the sensitive attribute.

    ``None`` where that cannot be had, or takes more values than a side measure is worth.
    """
    known = sorted(data.quasi_identifiers, key=lambda name: _span(data, name))[:2]
    names = [*known, *data.sensitive[:1]]
    if prod(_span(data, name) for name in names) > MOST_POINTS:
        return None
    try:
        return measure_divergence(release, data, [n for n in data.schema.names if n in names])
    except DiscreetError:
        return None


def _span(data: Microdata, name: str) -> int:
    """How many values an attribute can have, as far as a release tells."""
    domain = data.domains[name]
    if domain.attribute.type in (Type.INTEGER, Type.DECIMAL) and len(domain.values):
        return int(domain.numbers[-1] - domain.numbers[0]) + 1
    return domain.size


def _diverge_in_boxes(view: View, data: Microdata, sensitive: str) -> float | None:
    """By the box that covers each person, without listing its cells; where there is one."""
    rebuilt = view.density(data, sensitive)
    if rebuilt is None:
        return None
    if (rebuilt == 0).any():
        raise SchemaError("The release gives no probability to some people of this microdata.")
    names = [*view.release.schema.quasi_identifiers, sensitive]
    alike = pl.DataFrame({name: data.codes[name] for name in names}).select(
        pl.len().over(names).alias("n")
    )
    return float(np.mean(np.log(alike["n"].to_numpy() / data.n / rebuilt)))


def _diverge_in_cells(release: Release, data: Microdata, wanted: list[str]) -> float:
    """By listing D*; on a subspace boxes overlap, and all that cover a point add up."""
    rebuilt = reconstruct(release, wanted)
    frame = data.to_polars().select(wanted)
    for name in wanted:
        if release.recodings[name].transformation is Transformation.SET:
            frame = frame.with_columns(pl.col(name).cast(pl.String))
            rebuilt = rebuilt.with_columns(pl.col(name).cast(pl.String))
    true = frame.group_by(wanted).len("#n")
    both = true.join(rebuilt, on=wanted, how="left", nulls_equal=True)
    found = both[release.own(PROBABILITY)]
    if found.null_count():
        raise SchemaError("The release gives no probability to some people of this microdata.")
    d = both["#n"].to_numpy() / data.n
    return float(np.sum(d * np.log(d / found.to_numpy())))
