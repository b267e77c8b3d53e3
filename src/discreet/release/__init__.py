"""Release: what goes out, how it is written down, and how it is read back."""

from discreet.release.release import Format, OfPeople, Promise, Recoding, Release, Transformation

__all__ = ["Format", "OfPeople", "Promise", "Recoding", "Release", "Transformation"]
