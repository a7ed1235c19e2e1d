"""Reads a connection that blocks, in a thread, into a bounded buffer.

A client that can only wait for the next bytes cannot hear a stop. So a thread of its
own waits; while the buffer is full it reads nothing, and a server that can wait does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence

from arroyo_nb.feeds import Message

BUFFER_BYTES = 8 * 2**20
"""What is read and not yet taken, at most, beside the newest piece."""

_JOIN_S = 0.5


class BackgroundReader:
    """The messages of a generator that blocks.

    Parameters
    ----------
    messages
        Gives them as they come; what it raises is raised by :meth:`take`, behind the
        messages before it. It is closed by the thread that reads it.
    interrupt
        Lets a generator that waits come to its end; another thread calls it.
    name
        Of the thread.
    """

    def __init__(
        self,
        messages: Generator[Sequence[Message]],
        interrupt: Callable[[], None],
        name: str,
    ) -> None:
        self._messages = messages
        self._interrupt = interrupt
        self._changed = threading.Condition()
        self._buffer: list[Message] = []
        self._size_bytes = 0
        self._failure: BaseException | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._read, name=name, daemon=True)
        self._thread.start()

    def take(self, timeout_s: float) -> Sequence[Message]:
        """What has come; waits for the first message so long.

        Raises
        ------
        ArroyoError
            What ended the connection, once all messages before it were taken.
        """
        with self._changed:
            self._changed.wait_for(self._has_news, timeout_s)
            if not self._buffer and self._failure is not None:
                raise self._failure
            taken, self._buffer, self._size_bytes = self._buffer, [], 0
            self._changed.notify_all()
        return taken

    def close(self) -> None:
        """Read no more; waits half a second at most."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._interrupt()
        self._thread.join(_JOIN_S)

    def _has_news(self) -> bool:
        return bool(self._buffer) or self._failure is not None

    def _read(self) -> None:
        try:
            for messages in self._messages:
                if not self._put(messages):
                    break
        except BaseException as problem:  # whoever takes the messages raises it
            with self._changed:
                self._failure = problem
                self._changed.notify_all()
        finally:
            # By its own thread: it holds the connection.
            self._messages.close()

    def _put(self, messages: Sequence[Message]) -> bool:
        """Add what has come, once there is room; False when nobody wants it."""
        size_bytes = sum(message.size_bytes for message in messages)
        with self._changed:
            self._changed.wait_for(self._has_room)
            self._buffer.extend(messages)
            self._size_bytes += size_bytes
            self._changed.notify_all()
            return not self._closed

    def _has_room(self) -> bool:
        return self._closed or self._size_bytes < BUFFER_BYTES
