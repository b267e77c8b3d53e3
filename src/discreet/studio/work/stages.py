"""Stages of long work, as those who watch a job are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.steward.publication import Stage
from discreet.studio.workers import Tell


def staging(tell: Tell) -> Stage:
    """Tell of each stage as it begins."""

    @contextmanager
    def stage(what: str) -> Iterator[None]:
        tell(what, 0, 0)
        yield

    return stage
