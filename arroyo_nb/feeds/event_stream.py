"""Takes the bytes of ``text/event-stream`` apart, as they come.

An event is a block of lines that an empty line ends. The last id that a server has sent
holds for later events too; an event that its end did not reach is none. Source: the
HTML standard, "Server-sent events", 9.2.6.
"""

from __future__ import annotations

from typing import NamedTuple

CONTENT_TYPE = "text/event-stream"

LARGEST_EVENT_BYTES = 64 * 2**20
"""What comes without an empty line is not kept beyond this."""

_RETRY_DIGITS = 12
"""A longer number of milliseconds is no wait."""

_BOM = b"\xef\xbb\xbf"
_END = b"\n\n"


class Event(NamedTuple):
    """An event: its name, its data, and the last id that the server has sent."""

    name: str
    data: bytes
    last_id: str | None


class EventParser:
    """Finds the events of one stream.

    Attributes
    ----------
    retry_s
        After how many seconds the server wants to be connected to again, once it has
        said so.

    Parameters
    ----------
    last_id
        The one that the stream goes on after.
    """

    def __init__(self, last_id: str | None = None) -> None:
        self.retry_s: float | None = None
        self._last_id = last_id
        self._rest = bytearray()
        self._begun = False
        self._after_cr = False

    def parse(self, data: bytes) -> list[Event]:
        """The events that these bytes complete.

        Raises
        ------
        OverflowError
            When an event is larger than :data:`LARGEST_EVENT_BYTES`.
        """
        rest, before = self._rest, len(self._rest)
        rest += self._with_line_feeds(data)
        if not self._begun and len(rest) >= len(_BOM):
            self._begun = True
            if rest.startswith(_BOM):
                del rest[: len(_BOM)]
        # From where the pieces before ended: a large event comes in many.
        end = rest.rfind(_END, max(0, before - len(_BOM) - 1))
        blocks: list[bytes] = []
        if end >= 0:
            blocks = bytes(rest[:end]).split(_END)
            del rest[: end + len(_END)]
        if len(rest) > LARGEST_EVENT_BYTES:
            raise OverflowError
        return [event for block in blocks if (event := self._event(block)) is not None]

    def _with_line_feeds(self, data: bytes) -> bytes:
        """Every line end as a line feed; one of two bytes may be cut in its middle."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = not data and self._after_cr
        if data:
            self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _event(self, block: bytes) -> Event | None:
        """The event of a block of lines; None: it has no data."""
        name, data = "", []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field == b"id" and b"\0" not in value:
                self._last_id = value.decode("utf-8", "replace")
            elif field == b"retry" and value.isdigit() and len(value) < _RETRY_DIGITS:
                self.retry_s = int(value) / 1000
        return (
            Event(name or "message", b"\n".join(data), self._last_id) if data else None
        )
