"""Reading permuted releases: numbered groups, exact quasi-identifiers."""

from __future__ import annotations

import numpy as np

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.permuted.help_table import build_help
from discreet.forms.reading import take_table
from discreet.forms.records import RecordView
from discreet.forms.several import read_several
from discreet.release import Release

GROUP = "group"
TITLES, COLUMNS = ("permuted", "help"), (GROUP,)
"""The tables, the first of which is one for all sensitive attributes; and what it has of each."""


def read_permuted(release: Release) -> list[View]:
    """Take groups as numbered, and hold the help table against the permuted one."""
    if len(release.schema.sensitive) > 1:
        return read_several(release, TITLES, COLUMNS, read_permuted)
    own = release.own(GROUP)
    columns = {own, *release.columns}
    names = {"permuted"} if release.bags else {"permuted", "help"}
    table = take_table(release, names, "permuted", columns)
    whole = table[own].dtype.is_integer() and not table[own].null_count()
    if len(release.schema.sensitive) != 1 or not whole:
        raise StoreError("A permuted release has one sensitive attribute and a group for everyone.")
    sensitive = release.schema.sensitive[0]
    if not release.bags:  # else groups are not seen as a whole
        made = build_help(table[own], table[sensitive], release.schema[sensitive])
        if not release.tables["help"].equals(made):
            raise StoreError("The help table is not the one that follows from the permuted table.")
    labels = table[own].rank("dense").to_numpy().astype(np.int64) - 1
    return [RecordView(release, table, labels)]
