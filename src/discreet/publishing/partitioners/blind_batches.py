"""Blind batches: whoever knows how people were batched learns no more than batches hold.

Batches that are filled along an order of the buckets, or by a search, follow from whose values are
whose: who knows that keeps some ways to hand values out and drops others. Here people are batched
as by Xiao and Tao (Anatomy, VLDB 2006): in an order that is drawn, by their values alone, within
regions.

**What holds.** Who reads a release with such batches, knows the method and everybody's
quasi-identifiers, and takes all ways to hand out the values of the table for equally likely,
believes of every person a mixture of what batches hold.

*Proof.* A world says who has which value, and who is in which batch. Take one that may be the
truth, and exchange the values of people of one batch in any way. Regions are unions of batches, and
so is every node of the search for them; so nodes hold the same values as before. That search looks
at quasi-identifiers and at what nodes hold, and makes only cuts that cannot fail, however values
are handed out: so it finds the same regions. Within a region people are told apart by their values
and by their place in an order, all orders being equally likely: so how likely these batches are
follows from how many batches hold which values, and that is the same. What is published is the same
as well: boxes and marginals follow from quasi-identifiers, numbers of batches from what these show.
So both worlds are equally likely, whatever else is known of who is in which batch: given that a
person is in a batch, the person has each of its values as likely as the batch holds it. ∎

So a promise that mixtures keep (``Principle.mixture_safe``) is kept against who knows the method.
Cuts that a coin may forbid (``simulatable``) are no way to find regions: that one was not made can
tell much about a small batch. But the groups that they make are batches themselves: what is
believed of a person whose group is known keeps the promise, and boxes only mix these beliefs. They
are larger than batches of different values, and of people who are nearer to each other, which
answers questions better.
"""

from __future__ import annotations

import numpy as np

from discreet.principles.base import Principle
from discreet.principles.diversity import FrequencyDiversity
from discreet.principles.parts import PartBound
from discreet.principles.proximity import Generalizable
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.batches import Batching, batch_along, require_batches
from discreet.publishing.partitioners.histograms import bag_groups, histogram, holds_whole
from discreet.publishing.partitioners.simulatable import split_simulatably
from discreet.table.microdata import Microdata


def choose_blind_batching(principle: Principle, data: Microdata) -> Batching:
    """Give the way that answers best: groups by cuts wherever a principle allows for them.

    It follows from what the whole table holds.
    """
    bounded = all(isinstance(part, PartBound) for part in principle.parts)
    can_split = bounded and holds_whole(data, principle)
    return "mondrian" if can_split or len(data.sensitive) > 1 else "anatomize"


def make_blind_batches(
    data: Microdata, principle: Principle, how: Batching, draws: Draws
) -> Partition:
    """Partition people into batches that satisfy a principle on their sensitive attributes."""
    size = require_batches(data, principle, how)
    if size is None:
        return split_simulatably(data, principle, draws)
    (name,) = data.sensitive
    regions = find_blind_regions(data, principle, size, draws)
    bags, codes = bag_groups(data, regions, name), data.codes[name]
    labels, made = np.empty(data.n, dtype=np.int64), 0
    drawn = draws.permutation(data.n)
    drawn = drawn[np.argsort(regions.labels[drawn], kind="stable")]
    for region, rows in enumerate(np.split(drawn, regions.offsets[1:-1])):
        order = np.arange(len(rows))
        found = batch_along(order, codes[rows], principle, bags.take(region), size)
        labels[rows] = found + made
        made += int(found.max()) + 1
    return Partition.from_labels(labels)


def find_blind_regions(data: Microdata, principle: Principle, size: int, draws: Draws) -> Partition:
    """Part people by quasi-identifiers as long as all parts can be batched, whoever is in them.

    They can where no value, or near values, are more than one in ``size``.
    """
    (name,) = data.sensitive
    enough: Principle = FrequencyDiversity(size)
    for part in principle.parts:
        if isinstance(part, Generalizable):
            enough &= Generalizable(part.epsilon, size, part.relative)
    if not enough.admits(histogram(data, name)).all():
        return Partition.from_labels(np.zeros(data.n, dtype=np.int64))
    return split_simulatably(data, enough, draws, certain=True)
