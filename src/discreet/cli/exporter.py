"""The command of whoever hands a release to users of Excel, SPSS or Stata: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, Overwrite, ReleaseFolder, app
from discreet.cli.screen import print_json, show, working
from discreet.steward.outputs import refuse_outputs


@app.command()
def export(
    release: ReleaseFolder,
    to: Annotated[
        Path,
        typer.Option(
            help="people.xlsx: a sheet per table; people.sav or people.dta: a file per table, "
            "people-TABLE.sav."
        ),
    ],
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write the tables of a release for Excel, SPSS or Stata: the published cells, no others."""
    from discreet.release.exporting import export as write
    from discreet.release.exporting import list_files
    from discreet.release.store import load

    loaded = load(release)
    files = list_files(loaded, to)
    refuse_outputs(files, inputs=[release], overwrite=overwrite)
    with working("Exporting"):
        write(loaded, to, overwrite=overwrite)
    if json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        show(f"Written: {file}")
    show(f"What is verified and audited is {release}; this is a copy of its tables.")
