"""Patience: what takes longer than a steward would wait for it is stopped, as Ctrl-C stops it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN = 30.0
"""Seconds until the next interrupt, should native code have lost one."""


@contextmanager
def stopping_after(seconds: float) -> Iterator[Callable[[], bool]]:
    """Interrupt what is done after so many seconds; what is given says whether that happened.

    Only the main thread can be interrupted, where there are alarms; elsewhere nothing happens.

    >>> with stopping_after(60) as is_over:
    ...     is_over()
    False
    """
    over = False

    def strike(*_: object) -> None:
        nonlocal over
        over = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield lambda: False
        return

    def disarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    before = signal.signal(signal.SIGALRM, strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            yield lambda: over
        finally:
            disarm()
    finally:  # it may have struck just as that began
        disarm()
