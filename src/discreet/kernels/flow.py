"""Whether people can have their values where a release says they are: flows and matchings."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def _augment(value, room, need, take, seen, used):
    """Send one more person with a value to a batch, moving others if that makes room."""
    for b in range(need.shape[0]):
        if seen[b] or take[value, b] >= room[value, b]:
            continue
        seen[b] = True
        if used[b] < need[b]:
            take[value, b] += 1
            used[b] += 1
            return True
        for other in range(room.shape[0]):
            if take[other, b] > 0 and other != value:
                take[other, b] -= 1
                if _augment(other, room, need, take, seen, used):
                    take[value, b] += 1
                    return True
                take[other, b] += 1
    return False


@compiled
def fits(people, need, room):
    """Whether ``people[v]`` of each value fit into batches that take ``need[b]`` of the box.

    ``room[v, b]`` is how many of a value a batch has.
    """
    take = np.zeros(room.shape, np.int64)
    used = np.zeros(need.shape[0], np.int64)
    for v in range(people.shape[0]):
        for _ in range(people[v]):
            seen = np.zeros(need.shape[0], np.bool_)
            if not _augment(v, room, need, take, seen, used):
                return False
    return True


@compiled
def fit_boxes(cases, values, people, refers, batches, need, bags, codes, weights, large):
    """Whether the people of every box fit into the batches that it refers to.

    Box ``b`` has the cases ``cases[b]`` to ``cases[b + 1]``: so many ``people`` of a value; and
    refers, from ``refers[b]`` on, to batches that take ``need`` of it. Batches are bags of codes
    with weights. In a box of more than ``large`` people only each value and each batch is tried by
    itself.
    """
    for b in range(cases.shape[0] - 1):
        some, own = people[cases[b] : cases[b + 1]], values[cases[b] : cases[b + 1]]
        here = need[refers[b] : refers[b + 1]]
        small = here.sum() <= large
        room = np.zeros((some.shape[0], here.shape[0] if small else 0), np.int64)
        found = np.zeros(some.shape[0], np.int64)  # what all batches have of each value
        for j in range(here.shape[0]):
            batch, taken = batches[refers[b] + j], 0
            for e in range(bags[batch], bags[batch + 1]):
                v = np.searchsorted(own, codes[e])
                if v < some.shape[0] and own[v] == codes[e]:
                    found[v] += min(weights[e], here[j])
                    taken += min(weights[e], some[v])
                    if small:
                        room[v, j] = weights[e]
            if taken < here[j]:
                return False
        if (found < some).any() or (small and not fits(some, here, room)):
            return False
    return True


@compiled
def place(starts, options, room):
    """Count the people for whom there is no room however all are placed.

    Person p goes to one of ``options[starts[p]:starts[p + 1]]``, of which each takes ``room``
    people. Everybody's turn looks for the shortest chain of moves that ends at a free place.
    """
    people = starts.shape[0] - 1
    first = np.zeros(room.shape[0] + 1, np.int64)
    for o in range(room.shape[0]):
        first[o + 1] = first[o] + room[o]
    slots, used = np.full(first[-1], -1, np.int64), np.zeros(room.shape[0], np.int64)
    found_by, turn = np.empty(room.shape[0], np.int64), np.full(room.shape[0], -1, np.int64)
    left = np.empty(people, np.int64)  # the slot a person would leave
    queue, missed = np.empty(people + 1, np.int64), 0
    for p in range(people):
        queue[0], head, tail, free = p, 0, 1, -1
        while head < tail and free < 0:
            q = queue[head]
            head += 1
            for i in range(starts[q], starts[q + 1]):
                o = options[i]
                if turn[o] == p:
                    continue
                turn[o], found_by[o] = p, q
                if used[o] < room[o]:
                    free = o
                    break
                for slot in range(first[o], first[o + 1]):
                    queue[tail] = slots[slot]
                    left[slots[slot]] = slot
                    tail += 1
        if free < 0:
            missed += 1
            continue
        slot = first[free] + used[free]
        used[free] += 1
        q = found_by[free]
        while q != p:
            slots[slot] = q
            slot = left[q]
            q = found_by[np.searchsorted(first, slot, side="right") - 1]
        slots[slot] = p
    return missed
