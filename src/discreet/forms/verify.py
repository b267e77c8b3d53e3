"""Verify: from the published tables alone, does every group keep the promise?

Nothing here knows how a release is made. It reads tables, builds ``Groups`` and asks principles.
To add a form of release: one file that reads it, one line below.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.errors import PromiseError, StoreError
from discreet.forms.base import Classes
from discreet.forms.batched.view import read_angelized
from discreet.forms.generalized.view import read_generalized
from discreet.forms.permuted.view import read_permuted
from discreet.forms.perturbed.view import read_perturbed
from discreet.forms.sliced.view import read_sliced
from discreet.forms.swapped.view import read_swapped
from discreet.principles.base import demands, part_joins
from discreet.release import Release

READERS: dict[str, Callable[[Release], list[Classes]]] = {
    "batched": read_angelized,
    "generalized": read_generalized,
    "permuted": read_permuted,
    "perturbed": read_perturbed,
    "sliced": read_sliced,
    "swapped": read_swapped,
}


def verify(release: Release) -> None:
    """Raise if a group of the release, as published, breaks the promise."""
    # what is about joins takes the earlier releases, and an audit
    principle, _ = part_joins(release.promise.principle)
    for classes in filter(lambda view: view.tells, read_classes(release)):
        for part, name in demands(principle, release.schema.sensitive) if principle else ():
            good = classes.admits(part, name)
            if not good.all():
                worst = int(np.flatnonzero(~good)[0])
                about = f" of {name}" if name else ""
                raise PromiseError(
                    f"{part} is broken in {int((~good).sum())} of {classes.count} groups{about}; "
                    f"the first is group {worst} with {int(classes.sizes[worst])} people.",
                    hint="Do not publish this release.",
                    subject=release,
                )


def read_classes(release: Release) -> list[Classes]:
    """Read the groups of a release of any form, once per table that shows people."""
    if release.form not in READERS:
        raise StoreError(
            f"There is no way to examine a {release.form!r} release.",
            hint="Install the version of discreet that wrote it.",
        )
    return READERS[release.form](release)


__all__ = ["READERS", "Classes", "read_classes", "verify"]
