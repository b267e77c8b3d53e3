"""The command for those who would rather see it: studio."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.screen import show


@app.command()
def studio(
    folder: Annotated[
        Path, typer.Argument(help="The folder with your tables; nothing outside is touched.")
    ] = Path(),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any that is free.")
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="Whom to listen to: by default only this machine. What goes to any other is not "
            "encrypted."
        ),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser on it.")
    ] = True,
) -> None:
    """Open the whole journey of a table in a browser, on this machine."""
    from discreet.studio.server import run_studio

    def tell(address: str) -> None:
        show(f"The studio is at {address}")
        show("Keep the address to yourself: it lets in whoever has it. Ctrl-C ends it.")
        if browser:
            webbrowser.open(address)

    run_studio(folder, host, port, tell)
