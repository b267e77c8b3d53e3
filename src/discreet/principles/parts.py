"""Parts of a bag: what holds of every part that is large enough, whoever is in it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import KernelRule, Principle
from discreet.principles.groups import Groups
from discreet.table.arrays import Ints


class PartBound(Principle, ABC):
    """A principle that tells by a bag alone which sizes of its parts are enough."""

    @abstractmethod
    def part_size(self, groups: Groups) -> Ints:
        """Say of every bag from how many people on all its parts satisfy the principle.

        ``UNBOUNDED`` where no number will do.
        """

    def cut_odds(self, bag: Groups, sizes: Ints) -> float:
        """Say with what odds r/(1 - r) a cut of one bag must be left untried, so that it may fail.

        Parts have these sizes, and a node stays whole where one of them breaks the principle. With
        such odds or more that tells no more than the principle allows; see
        :mod:`discreet.publishing.partitioners.simulatable`. 0 for two halves, and where no parts
        break it.
        """
        if len(sizes) == 2 and sizes[0] == sizes[1]:
            return 0.0
        if int(sizes.min()) >= int(self.part_size(bag)[0]):
            return 0.0
        return self.weigh_parts(bag, sizes)

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:  # noqa: ARG002
        """Say the same where some parts break it; without bound if nothing is known of them."""
        return math.inf

    def part_rules(self, whole: Groups) -> list[KernelRule] | None:
        """Say the same for kernels: of most principles their rules tell it."""
        return self.rules(whole)


def bound_parts(principle: Principle, groups: Groups) -> Ints:
    """Say the same of a principle that is no conjunction, or refuse it."""
    if not isinstance(principle, PartBound):
        raise PromiseError(
            f"Of {principle} it is not known which parts of a group keep it, whoever is in them.",
            hint='Promise another one, or leave resist = "method" out.',
            subject=principle,
        )
    return principle.part_size(groups)


def sum_largest(groups: Groups, count: int) -> Ints:
    """Add up the so many largest weights of each bag.

    >>> sum_largest(Groups.of([["a", "a", "b", "c"], ["a"]]), 2).tolist()
    [3, 1]
    """
    ranked = np.lexsort((-groups.weights, groups.owners))
    rank = np.arange(len(ranked)) - np.repeat(groups.offsets[:-1], groups.distinct)
    return np.asarray(groups.sum(np.where(rank < count, groups.weights[ranked], 0)))
