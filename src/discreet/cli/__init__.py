"""The command line: one command per arrow of the flow, one file per kind of user.

Nothing heavy is imported up here, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from discreet.cli import analyst, chooser, ledger, researcher, reviewer, steward
from discreet.cli.app import app
from discreet.cli.screen import Stopped, say_error
from discreet.errors import DiscreetError

INTERRUPTED = 130


def main() -> None:
    """Run the command line; every expected failure is one message and an exit code."""
    import signal

    # being told to stop is no different from Ctrl-C: clean up, say so, leave
    signal.signal(signal.SIGTERM, signal.default_int_handler)
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
        if not hasattr(error, "exit_code"):  # a bug: show where
            raise
        show: Callable[[], None] = getattr(error, "show", lambda: None)
        show()
        code = int(error.exit_code)
    sys.exit(code or 0)


__all__ = ["analyst", "app", "chooser", "ledger", "main", "researcher", "reviewer", "steward"]
