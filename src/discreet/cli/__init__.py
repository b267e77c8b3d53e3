"""The command line: one command per arrow of the flow, one file per kind of user.

Nothing heavy is imported up here, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper

import typer

from discreet.cli import (
    analysis,
    analyst,
    chooser,
    exporter,
    installer,
    ledger,
    publisher,
    researcher,
    reviewer,
    server,
    steward,
    studio,
)
from discreet.cli.app import app
from discreet.cli.screen import Stopped, say_error
from discreet.errors import DiscreetError, is_interrupt, visible

INTERRUPTED, UNREAD, FAULT = 130, 141, 70
"""Exit codes beside those of errors; a fault is ours, and is no finding about a release."""
ROOM = "Allow for more memory (ulimit -v, --memory), or install discreet again if that is not it."
STOPPED = "Interrupted. Nothing half-written was left behind."


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
    try:
        _listen()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # what its encoding lacks is spelled out
                stream.reconfigure(errors="backslashreplace")
        code = _run()
    except BaseException:  # not even that could be said
        code = FAULT
    sys.exit(code)


def _run() -> int:
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            say_error(STOPPED)
        return int(code or 0)
    except DiscreetError as error:
        say_error(str(error))
        return error.exit_code
    except Stopped as stopped:
        say_error(str(stopped))
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        say_error(STOPPED)
        return INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()
    except (OSError, MemoryError) as error:
        say_error(_explain(error))
        return 2
    except SystemExit as stop:  # of completion, or of a pipe that was closed
        return _close_pipe() if isinstance(stop.__context__, OSError) else int(stop.code or 0)
    except BaseException as error:
        if is_interrupt(error):
            say_error(STOPPED)
            return INTERRUPTED
        if not hasattr(error, "exit_code"):
            _confess()
            return FAULT
        for name in ("message", "option_name", "param_hint"):  # what was typed is shown again
            if isinstance(text := getattr(error, name, None), str):
                setattr(error, name, visible(text))
        show: Callable[[], None] = getattr(error, "show", lambda: None)
        with suppress(OSError):
            show()
        return int(error.exit_code)


def _explain(error: OSError | MemoryError) -> str:
    """Say what the system refused, or that there is no room for what is asked."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"{error.filename or 'standard output'}: {error.strerror or error}."
    # an OSError without a number is of a library that cannot be loaded
    why = "There is not enough memory for this." if isinstance(error, MemoryError) else error
    return f"{why}\nHint: {ROOM}"


def _close_pipe() -> int:
    """Leave as programs do whose reader is gone: what they found out was not read to its end."""
    sys.stdout = None  # type: ignore[assignment]
    return UNREAD


def _confess() -> None:
    """Say of a fault where it is, and that it is ours."""
    import traceback

    if sys.stderr is not None:
        print(visible(traceback.format_exc()), file=sys.stderr)
    say_error("This is a fault in discreet. Nothing was found out about your data; please report "
              "it, with the lines above.")  # fmt: skip


__all__ = [
    "analysis", "analyst", "app", "chooser", "exporter", "installer", "ledger", "main",
    "publisher", "researcher", "reviewer", "server", "steward", "studio",
]  # fmt: skip
