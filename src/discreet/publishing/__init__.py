"""Publishing: how a release is made from microdata."""

from __future__ import annotations

import numpy as np

from discreet.errors import SchemaError
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.table.microdata import Microdata


def publish(data: Microdata, method: Method, *, insecure_seed: int | None = None) -> Release:
    """Make a release from microdata.

    Randomness, where a method needs it, comes from the operating system; with an ``insecure_seed``
    the release can be made again. Who guesses it can undo shuffles.
    """
    if insecure_seed is not None and insecure_seed < 0:
        raise SchemaError(f"insecure_seed = {insecure_seed}: give a whole number of at least 0.")
    return method.publish(data, np.random.default_rng(insecure_seed))


__all__ = ["Method", "publish"]
