"""The command for an analyst's own clients: serve."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.screen import show, working
from discreet.errors import QueryError


@app.command()
def serve(
    releases: Annotated[
        list[Path], typer.Argument(help="Folders of releases; each is a database of its name.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any that is free.")
    ] = 5433,
    host: Annotated[
        str,
        typer.Option(
            help="Whom to listen to: by default only this machine. Any other address needs a "
            "password, in the environment variable DISCREET_PASSWORD."
        ),
    ] = "127.0.0.1",
) -> None:
    """Answer psql, DBeaver, pandas: a server that speaks PostgreSQL's protocol."""
    from discreet.release.store import load
    from discreet.serving.server import serve as answer

    names = [folder.resolve().name for folder in releases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise QueryError(
            f"Two releases are called {twice!r}.", hint="Rename a folder, or serve them apart."
        )
    with working("Loading"):
        loaded = {name: load(path) for name, path in zip(names, releases, strict=True)}

    def tell(listening: int) -> None:
        for name in names:
            show(f"psql -h {host} -p {listening} -d {name}")
        show("Ask: SELECT COUNT(*) FROM release. Ctrl-C ends it.")

    answer(loaded, host, port, os.environ.get("DISCREET_PASSWORD") or None, tell)
