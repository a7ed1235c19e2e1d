"""SIGTERM to a process that would end at once, and leave its folders behind.

A notebook's kernel does not listen to SIGTERM: no function of ``atexit`` is called, and
work folders stay until somebody sweeps them. Whoever listens already ends well by
itself, and is left alone.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

from arroyo_nb.engine import folders

CLOSE_S = 1.5
"""How long closing may take: who sent SIGTERM soon sends SIGKILL."""


def close_at_sigterm(close: Callable[[], object]) -> None:
    """Have something closed, and this process's work folders removed, before SIGTERM
    ends the process. To be called on the main thread; on others it does nothing.

    Parameters
    ----------
    close
        Is called once, on a thread of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it now
        # The main thread may hold a lock that closing waits for.
        threading.Thread(target=_end, args=(close,), daemon=True).start()

    signal.signal(signal.SIGTERM, end)


def _end(close: Callable[[], object]) -> None:
    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(CLOSE_S)
    folders.remove_own()
    os.kill(os.getpid(), signal.SIGTERM)
