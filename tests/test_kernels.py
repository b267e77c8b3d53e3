"""Kernels: where nothing can be cached, they still run."""

from __future__ import annotations

import numba
import pytest

from discreet.kernels import compiled


def test_a_machine_without_a_writable_cache_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = numba.njit

    def refuse_cache(*arguments: object, **options: object) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return honest(*arguments, **options)

    monkeypatch.setattr(numba, "njit", refuse_cache)
    assert compiled(lambda x: x + 1)(2) == 3
