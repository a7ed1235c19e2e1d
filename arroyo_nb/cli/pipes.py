"""Standard output and error where nobody reads them any more, or the disk is full."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from typing import TextIO


def _streams() -> Iterator[TextIO]:
    yield from filter(None, (sys.stdout, sys.stderr))


def flush() -> None:
    """Write what is still buffered.

    Raises
    ------
    OSError
        When standard output cannot be written; of standard error it is let go.
    """
    for stream in _streams():
        try:
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError:
            if stream is not sys.stderr:
                raise
            _drop(stream)  # else Python would end with a status of its own


def _drop(stream: TextIO) -> None:
    """Have what is still to be written go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def drop_broken() -> bool:
    """Have what is still to be written to a pipe that nobody reads any more go nowhere;
    False: no output of ours is one."""
    broken = [stream for stream in _streams() if is_broken(stream)]
    for stream in broken:
        _drop(stream)
    return bool(broken)


def is_broken(stream: TextIO) -> bool:
    """Whether nobody reads a stream: what it has buffered cannot be written, or the
    system says so, as nothing may be left of what failed."""
    try:
        stream.flush()
        poll = select.poll()
        poll.register(stream.fileno(), 0)
    except BrokenPipeError:
        return True
    except (OSError, ValueError):  # it is no file
        return False
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
