"""What was found lately, so that a store is not asked again for each row.

Also that a key is not there is remembered. Used by one thread of a Python worker.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

Ask: TypeAlias = Callable[[Sequence[str]], Sequence[bytes | None]]

ENTRY_BYTES = 128
"""What an entry takes beside its key and its record: a key that is not there takes
memory too."""


class LookupCache:
    """Records by key, those that were not used for longest forgotten first.

    Parameters
    ----------
    max_bytes
        How much is kept; 0 keeps nothing.
    ttl_s
        Seconds after which a key is asked for again; None: never.
    clock
        Seconds that never go back.
    """

    def __init__(
        self,
        max_bytes: int,
        ttl_s: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._bytes = 0
        self._entries: OrderedDict[str, tuple[bytes | None, float]] = OrderedDict()

    def find(self, keys: Sequence[str], ask: Ask) -> list[bytes | None]:
        """The record of each key; what is not known, or too old, is asked for at once.

        Parameters
        ----------
        keys
            Distinct keys.
        ask
            Gives the records of keys, in their order.
        """
        now = self._clock()
        known = {key: self._entries[key][0] for key in keys if self._holds(key, now)}
        unknown = [key for key in keys if key not in known]
        for key in known:
            self._entries.move_to_end(key)
        if unknown:
            known |= zip(unknown, ask(unknown), strict=True)
            # As of before they were asked: what is read is not older.
            for key in unknown:
                self._put(key, known[key], now)
        return [known[key] for key in keys]

    def _holds(self, key: str, now: float) -> bool:
        if key not in self._entries:
            return False
        return self._ttl_s is None or now - self._entries[key][1] < self._ttl_s

    def _put(self, key: str, record: bytes | None, now: float) -> None:
        self._forget(key)
        size = _size(key, record)
        if size > self._max_bytes:
            return
        self._entries[key] = record, now
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._entries)))

    def _forget(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= _size(key, entry[0])


def _size(key: str, record: bytes | None) -> int:
    return ENTRY_BYTES + len(key.encode()) + len(record or b"")
