"""Data sets to try things on: one real, others of any size."""

from __future__ import annotations

from discreet.datasets.adult import adult, adult_frame, adult_taxonomies
from discreet.datasets.census import census, census_frame, census_schema
from discreet.datasets.ratings import ratings_frame

__all__ = [
    "adult",
    "adult_frame",
    "adult_taxonomies",
    "census",
    "census_frame",
    "census_schema",
    "ratings_frame",
]
