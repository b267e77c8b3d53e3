"""The command line: one command per arrow of the flow, one file per kind of user.

Nothing heavy is imported up here, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from discreet.cli import analyst, chooser, ledger, researcher, reviewer, steward
from discreet.cli.app import app
from discreet.cli.screen import Stopped, say_error, visible
from discreet.errors import DiscreetError

INTERRUPTED, FAULT = 130, 70
"""Exit codes beside those of errors; a fault is ours, and is no finding about a release."""


def _listen() -> None:
    """Take being told to stop like Ctrl-C: clean up, say so, leave.

    Native code that is struck by it says so at length; that is kept off the screen.
    """
    import os
    import signal

    def stop(*_: object) -> None:
        if sys.stderr is sys.__stderr__ and sys.stderr is not None:
            sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, stop)


def main() -> None:
    """Run the command line; every expected failure is one message and an exit code."""
    _listen()
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            say_error("Interrupted. Nothing half-written was left behind.")
    except DiscreetError as error:
        say_error(str(error))
        code = error.exit_code
    except Stopped as stopped:
        say_error(str(stopped))
        code = INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        say_error("Interrupted. Nothing half-written was left behind.")
        code = INTERRUPTED
    except BrokenPipeError:  # whoever reads us has seen enough
        sys.stdout = None  # type: ignore[assignment]
        code = 0
    except OSError as error:
        say_error(f"{error.filename or 'standard output'}: {error.strerror or error}.")
        code = 2
    except BaseException as error:
        if "KeyboardInterrupt" in str(error):  # caught inside polars, which panics about it
            say_error("Interrupted. Nothing half-written was left behind.")
            sys.exit(INTERRUPTED)
        if not hasattr(error, "exit_code"):
            _confess()
            sys.exit(FAULT)
        show: Callable[[], None] = getattr(error, "show", lambda: None)
        show()
        code = int(error.exit_code)
    sys.exit(code or 0)


def _confess() -> None:
    """Say of a fault where it is, and that it is ours."""
    import traceback

    print(visible(traceback.format_exc()), file=sys.stderr)
    say_error("This is a fault in discreet. Nothing was found out about your data; please report "
              "it, with the lines above.")  # fmt: skip


__all__ = ["analyst", "app", "chooser", "ledger", "main", "researcher", "reviewer", "steward"]
