"""Data sets to try things on: one real, one of any size."""

from __future__ import annotations

from discreet.datasets.adult import adult, adult_frame, adult_taxonomies
from discreet.datasets.census import census, census_frame, census_schema

__all__ = [
    "adult",
    "adult_frame",
    "adult_taxonomies",
    "census",
    "census_frame",
    "census_schema",
]
