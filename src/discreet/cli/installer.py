"""The command of whoever lets others ask a release from their own clients: install."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.app import IntoSchema, Json, Overwrite, ReleaseFolder, app
from discreet.cli.screen import make_table, print_json, show, working
from discreet.steward.outputs import refuse_outputs


@app.command()
def install(
    release: ReleaseFolder,
    into: Annotated[
        str,
        typer.Option(
            help="A file such as release.duckdb, postgresql://user@host/name, spark://host:7077, "
            "sc://host or local[*]."
        ),
    ],
    schema: IntoSchema = "discreet",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Attributes whose combinations are listed, such as age,sex; again for more views. "
            "Without it, all, as far as they are not too many."
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Put a release into a database, to be asked there in plain SQL without discreet."""
    from dataclasses import asdict
    from pathlib import Path

    from discreet.forms.installing import install as put
    from discreet.release.store import load
    from discreet.sql.catalogs import is_file

    if is_file(into):  # a file that is there may get another schema
        refuse_outputs([Path(into)], inputs=[release], overwrite=True)
    asked = [[name.strip() for name in names.split(",")] for names in columns or []]
    with working("Installing"):
        made = put(load(release), into, schema=schema, columns=asked, overwrite=overwrite)
    if json:
        print_json(asdict(made))
        return
    table = make_table("in the schema", "what")
    for title, names in made.views.items():
        table.add_row(title, f"weights of {', '.join(names)}")
    for title in made.functions:
        table.add_row(title, "bounds of what a condition takes")
    table.add_row(", ".join(made.tables), "tables")
    show(table)
    for name, why in made.left_out.items():
        show(f"Left out: {name}. {why}")
    if made.views:
        show(f'Ask for example: SELECT SUM({made.weight}) FROM "{made.schema}".expected')
