"""What the files of a sink are called."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

STRATEGIES: Mapping[str, Callable[[int], str]] = {
    "uuid_v7": lambda _: str(uuid.UUID(bytes=_by_time(version=7))),
    "uuid": lambda _: str(uuid.uuid4()),
    "ulid": lambda _: _crockford(int.from_bytes(_by_time())),
    "serial": lambda number: f"{number:05d}-000",
}
"""A name for the file of a number; the names of all but ``serial`` are random."""

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True)
class FileNames:
    """Names of files.

    Parameters
    ----------
    strategy
        A key of :data:`STRATEGIES`.
    prefix
        What a name begins with, before a hyphen; None: nothing.
    suffix
        What it ends with, after a dot.
    """

    strategy: str
    prefix: str | None
    suffix: str

    def name(self, number: int) -> str:
        """A name.

        >>> FileNames("serial", "trips", "json").name(7)
        'trips-00007-000.json'
        """
        stem = STRATEGIES[self.strategy](number)
        lead = f"{self.prefix}-" if self.prefix else ""
        return f"{lead}{stem}.{self.suffix}"


def _by_time(version: int | None = None) -> bytes:
    """16 bytes: 6 of the time in milliseconds, so that later ones sort after."""
    stamp = (time.time_ns() // 1_000_000).to_bytes(6)
    rest = bytearray(secrets.token_bytes(10))
    if version is not None:
        rest[0] = version << 4 | rest[0] & 0x0F
        rest[2] = 0x80 | rest[2] & 0x3F
    return stamp + bytes(rest)


def _crockford(number: int) -> str:
    """128 bits as 26 digits of 5."""
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))
