"""Equation: an attribute explained by others, fitted to records as they are assumed to be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.analysis.design import DesignBlock
from discreet.analysis.models import Estimated, ResponseModel
from discreet.table.arrays import Floats, Ints


class Equation:
    """What is explained, by what, and how. Numbers are centred and scaled inside."""

    def __init__(
        self,
        target: str,
        response: DesignBlock,
        regressors: dict[str, DesignBlock],
        model: ResponseModel,
    ) -> None:
        self.target, self.response, self.regressors = target, response, regressors
        self.model = model
        centres = [np.zeros(1), *(block.centre for block in regressors.values())]
        scales = [np.ones(1), *(block.scale for block in regressors.values())]
        self.centre, self.scale = np.concatenate(centres), np.concatenate(scales)
        ends = np.cumsum([1, *(len(block.terms) for block in regressors.values())])
        pairs = zip(regressors, ends[:-1], ends[1:], strict=True)
        self.places = {name: slice(first, last) for name, first, last in pairs}
        self._start = np.zeros(len(self.centre))

    @property
    def back(self) -> Floats:
        """What makes coefficients of centred numbers those of the numbers themselves."""
        back = np.diag(1 / self.scale)
        back[0, 1:] = -(self.centre / self.scale)[1:]
        return back

    def fit(self, codes: Mapping[str, Ints]) -> tuple[Estimated, float]:
        """Fit records; give also how many of them have nothing missing."""
        response = self.respond(codes[self.target])
        design = np.ones((len(response), len(self.centre)))
        for name, place in self.places.items():
            design[:, place] = self._centred(name)[codes[name]]
        whole = ~(np.isnan(response) | np.isnan(design).any(axis=1))
        if not whole.all():
            design, response = design[whole], response[whole]
        found = self.model.fit(design, response, self._start)
        self._start = found.coefficients
        return found, float(whole.sum())

    def respond(self, codes: Ints) -> Floats:
        """Give the response as a number."""
        return np.asarray(self.response.numbers[codes, 0])

    def add(self, name: str, codes: Ints, coefficients: Floats) -> Floats:
        """Give what an attribute adds to the sum of terms."""
        return np.asarray((self._centred(name) @ coefficients[self.places[name]])[codes])

    def _centred(self, name: str) -> Floats:
        place = self.places[name]
        return (self.regressors[name].numbers - self.centre[place]) / self.scale[place]
