"""Publishing: how a release is made from microdata."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import SchemaError
from discreet.principles.thresholds import require_named
from discreet.publishing.draws import SeededDraws, SystemDraws
from discreet.publishing.method import Method
from discreet.release import Release
from discreet.table.microdata import Microdata


def publish(data: Microdata, method: Method, *, insecure_seed: int | None = None) -> Release:
    """Make a release from microdata.

    What a method draws protects people, and comes from the operating system. With an
    ``insecure_seed`` the same release is made again, by whoever guesses the seed too: that is for
    tests, and such a release is not written unless that is asked for (``insecure=True``).
    """
    require_named(method.principle, data.domains, data.sensitive)
    if insecure_seed is None:
        return method.publish(data, SystemDraws())
    if insecure_seed < 0:
        raise SchemaError(f"insecure_seed = {insecure_seed}: give a whole number of at least 0.")
    return replace(method.publish(data, SeededDraws(insecure_seed)), insecure=True)


__all__ = ["Method", "publish"]
