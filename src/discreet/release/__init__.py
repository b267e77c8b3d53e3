"""Release: what goes out, how it is written down, and how it is read back."""

from discreet.release.own_columns import name_own
from discreet.release.release import (
    Format,
    OfPeople,
    PossibleRecords,
    Promise,
    Recoding,
    Release,
    Transformation,
    number_title,
)

__all__ = [
    "Format",
    "OfPeople",
    "PossibleRecords",
    "Promise",
    "Recoding",
    "Release",
    "Transformation",
    "name_own",
    "number_title",
]
