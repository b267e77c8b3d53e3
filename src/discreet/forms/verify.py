"""Verify: from the published tables alone, does every group keep the promise?

Nothing here knows how a release is made. It reads tables, builds ``Groups`` and asks principles.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import demands, part_joins
from discreet.principles.thresholds import require_named
from discreet.release import Release


def verify(release: Release) -> None:
    """Raise if a group of the release, as published, breaks the promise.

    Of parts that :func:`list_unverifiable` lists it tells nothing.
    """
    # what is about joins takes the earlier releases, and an audit
    principle, _ = part_joins(release.promise.principle)
    for view in (view for view in release.views if view.verifiable_alone):
        for part, name in demands(principle, release.schema.sensitive) if principle else ():
            if part.personal:  # who guards what is not published; an audit with microdata tells
                continue
            if name in view.release.schema.names and part.named_values:
                require_named(part, {name: view.bags(name).domain}, [name])
            good = view.admits(part, name)
            if not good.all():
                worst = int(np.flatnonzero(~good)[0])
                about = f" of {name}" if name else ""
                raise PromiseError(
                    f"{part} is broken in {int((~good).sum())} of {view.count} groups{about}; "
                    f"the first is group {worst} with {int(view.sizes[worst])} people.",
                    hint="Do not publish this release.",
                    subject=release,
                )


def list_unverifiable(release: Release) -> list[str]:
    """Say which parts of a promise the published tables alone do not tell to be kept, and why."""
    return [
        f"{part}: who guards what is not published. That it is kept an audit tells, with the "
        "microdata."
        for part in release.promise.principle.parts
        if part.personal
    ]
