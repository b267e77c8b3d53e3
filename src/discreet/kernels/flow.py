"""Whether the people of a box can have their values in the batches its records refer to."""

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
