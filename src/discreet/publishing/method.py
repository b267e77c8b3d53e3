"""Method: a way of making releases of one form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.principles.base import Principle
from discreet.release import Release
from discreet.release.explanation import Explanation

if TYPE_CHECKING:
    from discreet.table.microdata import Microdata


@dataclass(frozen=True)
class Method(ABC):
    """A way of making releases of one form."""

    title: ClassVar[str]
    """Name in plans and on the command line."""
    form: ClassVar[str]
    """The form of its releases, which several methods may share."""
    paper: ClassVar[str]
    """Where it comes from."""

    principle: Principle

    @abstractmethod
    def publish(self, data: Microdata, rng: np.random.Generator) -> Release:
        """Make a release that keeps the promise, or raise and say what could be kept."""

    def explain(self, data: Microdata) -> Explanation | None:  # noqa: ARG002
        """Say how the release of this table came about, where a method does so step by step."""
        return None

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle, as plain values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "principle"}
