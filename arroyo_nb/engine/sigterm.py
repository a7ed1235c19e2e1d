"""SIGTERM to a process that would end at once, and leave its folders behind.

A notebook's kernel does not listen to SIGTERM: no function of ``atexit`` is called, and
work folders stay until somebody sweeps them. Whoever listens already ends well by
itself, and is left alone.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType

from arroyo_nb.engine import folders

CLOSE_S = 1.5
"""How long closing may take: who sent SIGTERM soon sends SIGKILL."""


BY_SIGTERM = "ended by SIGTERM"
"""What a run says that was ended so."""

_CLOSES: list[Callable[[str], object]] = []
"""What is open, and is to be closed when SIGTERM comes."""


def close_at_sigterm(close: Callable[[str], object]) -> Callable[[], None]:
    """Have something closed, and this process's work folders removed, before SIGTERM
    ends the process. Only the main thread can listen: on others this does nothing.

    Parameters
    ----------
    close
        Is called once, on a thread of its own, with what ended the process.

    Returns
    -------
    Callable
        To be called when it is closed already: nothing of it is held any more.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    if signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, _on_sigterm):
        return lambda: None
    signal.signal(signal.SIGTERM, _on_sigterm)
    _CLOSES.append(close)
    return partial(_forget, close)


def _forget(close: Callable[[str], object]) -> None:
    with suppress(ValueError):
        _CLOSES.remove(close)


def _on_sigterm(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it now
    # The main thread may hold a lock that closing waits for.
    threading.Thread(target=_end, args=((*_CLOSES,),), daemon=True).start()


def _end(closes: Sequence[Callable[[str], object]]) -> None:
    deadline_s = time.monotonic() + CLOSE_S
    closing = [
        threading.Thread(target=close, args=(BY_SIGTERM,), daemon=True)
        for close in closes
    ]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join(max(deadline_s - time.monotonic(), 0.0))
    folders.remove_own()
    os.kill(os.getpid(), signal.SIGTERM)
