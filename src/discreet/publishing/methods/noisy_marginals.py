"""Noisy marginals: counts of a few attributes at a time, with noise, under differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np

from discreet.errors import PromiseError, SchemaError
from discreet.forms.noisy.layout import (
    COUNT,
    FITTED,
    MOST_CELLS,
    NoisyCounts,
    NoisyMarginal,
    write_tables,
)
from discreet.forms.noisy.wording import word_noisy
from discreet.principles.base import ratio, require_whole
from discreet.principles.differential import DifferentialPrivacy
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method
from discreet.publishing.methods.marginal_choice import read_names, require_lists
from discreet.publishing.noise import add_noise, find_scale
from discreet.release import Recoding, Release
from discreet.release.own_columns import name_own
from discreet.table.microdata import Microdata
from discreet.table.public_cells import PublicCells, list_cells
from discreet.table.schema import Role

BINS = 20


@dataclass(frozen=True)
class NoisyMarginals(Method):
    """Count people by some attributes at a time, and add discrete Laplace noise to every count.

    Dwork, McSherry, Nissim, Smith, TCC 2006, with the noise of Ghosh, Roughgarden, Sundararajan,
    STOC 2009. ``marginals`` lists the attributes of each table; by default, every quasi-identifier
    with every sensitive attribute. Numbers and dates of more than ``bins`` values are put into so
    many cells.

    >>> import discreet as dc, polars as pl
    >>> frame = pl.DataFrame({"sex": ["F", "M", "F", "F"], "ill": [True, False, False, True]})
    >>> schema = dc.Schema((
    ...     dc.Attribute("sex", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY, values=("F", "M")),
    ...     dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.BOOLEAN)))
    >>> method = dc.NoisyMarginals(dc.DifferentialPrivacy(1))
    >>> release = dc.publish(dc.read(frame, schema), method)
    >>> release.tables["marginal"].select("sex", "ill").rows()
    [('F', 'false'), ('F', 'true'), ('M', 'false'), ('M', 'true')]

    **Guarantee**: differential privacy with ε, of tables that differ by one person more or less.
    Somebody is in one cell of every table. With t tables, all counts together change by t, and
    noise of scale t/ε hides that with ε. Cells follow from public domains, so that which there are
    tells nothing; all else that is published is worked out from the noisy counts.
    """

    title: ClassVar[str] = "noisy-marginals"
    form: ClassVar[str] = "noisy"
    paper: ClassVar[str] = (
        "Dwork, McSherry, Nissim, Smith: Calibrating Noise to Sensitivity in Private Data "
        "Analysis, TCC 2006"
    )
    keeps_drawn: ClassVar[bool] = True

    marginals: Sequence[Sequence[str]] | None = None
    bins: int = BINS

    def __post_init__(self) -> None:
        parts = self.principle.parts
        if len(parts) != 1 or not isinstance(parts[0], DifferentialPrivacy):
            raise SchemaError(
                f"Noisy marginals promise differential privacy, not {self.principle}.",
                hint="Give DifferentialPrivacy(epsilon); other principles take generalization.",
            )
        if parts[0].on is not None:
            raise SchemaError(
                "Differential privacy is about everything that is told of a person.",
                hint="Leave on out.",
            )
        require_whole("bins", self.bins)
        object.__setattr__(self, "marginals", require_lists("marginals", self.marginals))

    def publish(self, data: Microdata, draws: Draws) -> Release:
        """Count all cells of every marginal, add noise, and make the tables agree."""
        _refuse_unbounded(data)
        marginals = self._list_marginals(data)
        counted = [n for n in data.public_schema.names if any(n in names for names in marginals)]
        cells = {name: list_cells(data.schema[name], self.bins) for name in counted}
        scale = find_scale(ratio(self._promised.epsilon), len(marginals))
        counts = [_count(data, names, cells) for names in marginals]
        drawn = add_noise(np.concatenate([own.ravel() for own in counts]), scale, draws)
        parts = np.split(drawn, np.cumsum([own.size for own in counts])[:-1])
        noisy = NoisyCounts(cells, [
            NoisyMarginal(tuple(names), part.reshape(own.shape))
            for names, part, own in zip(marginals, parts, counts, strict=True)
        ], Fraction(scale))  # fmt: skip
        own = {word: name_own(word, counted) for word in (COUNT, FITTED)}
        promise, about = word_noisy(self.principle, marginals, own[COUNT], own[FITTED])
        recodings = {
            name: Recoding("counted", missing=one.missing, public=True)
            for name, one in cells.items()
        }
        told = {"marginals": [list(names) for names in marginals], "bins": self.bins}
        made = self.release(data, write_tables(own, noisy), recodings, about, promise,
                            parameters={**told, "scale": scale})  # fmt: skip
        # taxonomies are cut down to the values that somebody has, and are left out
        plain = (replace(attribute, taxonomy=None) for attribute in made.schema)
        return replace(made, schema=replace(made.schema.changed(*plain), weight=None))

    @property
    def _promised(self) -> DifferentialPrivacy:
        (part,) = self.principle.parts
        assert isinstance(part, DifferentialPrivacy)
        return part

    def _list_marginals(self, data: Microdata) -> list[list[str]]:
        """List what is counted together, as it is asked for or by roles; nothing else decides."""
        known = [a.name for a in data.schema.published if a.role is not Role.OTHER]
        quasi, sensitive = data.quasi_identifiers, data.sensitive
        asked: Sequence[Sequence[str]] | None = self.marginals
        if asked is None:
            asked = [[q, s] for s in sensitive for q in quasi] or [[name] for name in known]
        if not asked:
            raise SchemaError("There is no marginal.", hint="Give one, or leave marginals out.")
        return read_names("marginals", asked, known, "published column")


def _refuse_unbounded(data: Microdata) -> None:
    """Refuse tables in which one person may count more than once, or is shown as they are."""
    key = data.schema.people
    if data.persons is not None and (key.rows == "all" or key.cluster is not None):
        raise PromiseError(
            "People may have several rows here, or count as one with others, so one of them may "
            "change counts by more than one.",
            hint='Publish one row of everybody: rows = "one", or rows = "fold", without clusters.',
        )
    kept = [a.name for a in data.schema.published if a.role is Role.OTHER]
    if kept:
        raise SchemaError(
            f"Column {kept[0]!r} is kept as it is, which noise does not protect.",
            hint="Give it the role quasi-identifier or sensitive, or do not keep it.",
        )


def _count(data: Microdata, names: Sequence[str], cells: dict[str, PublicCells]) -> np.ndarray:
    """Count the people of all combinations of cells."""
    shape = tuple(cells[name].count for name in names)
    if prod(shape) > MOST_CELLS:
        raise SchemaError(
            f"The marginal {', '.join(names)} has {prod(shape):,} cells; at most {MOST_CELLS:,} "
            "are counted.",
            hint="Give marginals of fewer attributes, or fewer bins.",
        )
    number = np.zeros(data.n, dtype=np.int64)
    for name, size in zip(names, shape, strict=True):
        place = cells[name].place(data.domains[name])
        own = place[data.codes[name]]
        if (own < 0).any():
            raise SchemaError(
                f"Column {name!r} has a value that is not in its public domain.",
                hint="Correct low and high, values or the taxonomy of the column; or the cell.",
                subject=data.schema[name],
            )
        number = number * size + own
    return np.bincount(number, minlength=prod(shape)).reshape(shape)
