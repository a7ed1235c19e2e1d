"""What records of a schema registry begin with: a zero, and the id of their schema in
four bytes, the highest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from arroyo_nb.schema_registry import RegistryClient, UnknownSchema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PREFIX_BYTES = 5
UNKNOWN_AT_ONCE, UNKNOWN_S = 100, 60.0
"""So many ids that the registry does not know are asked for in so many seconds: bytes
that are no records must not become thousands of requests."""

MAX_CLIENTS = 100
"""Of so many registries the unknown ids are kept."""

NO_PREFIX = "it does not begin with the number of a schema in the schema registry"
"""Why a record is bad that is too short, or begins with another byte."""

T = TypeVar("T")


def prefix(schema_id: int) -> bytes:
    """What a record of a schema begins with.

    >>> prefix(7)
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return b"\0" + schema_id.to_bytes(PREFIX_BYTES - 1, "big")


def by_schema_id(payloads: pa.Array) -> Iterator[tuple[int | None, np.ndarray]]:
    """The ids in a batch of payloads, and the numbers of the payloads that have each;
    None: those that have none.

    Parameters
    ----------
    payloads
        Bytes, none of them NULL.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    heads = pc.binary_slice(payloads, 0, PREFIX_BYTES)
    whole = pc.equal(pc.binary_length(heads), PREFIX_BYTES)
    rows = np.flatnonzero(whole.to_numpy(zero_copy_only=False))
    fixed = heads.filter(whole).cast(pa.binary(PREFIX_BYTES))
    read = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)
    read = read[: len(rows) * PREFIX_BYTES].reshape(-1, PREFIX_BYTES).astype(np.int64)
    ids = np.full(len(payloads), -1)
    number = read[:, 1] << 24 | read[:, 2] << 16 | read[:, 3] << 8 | read[:, 4]
    ids[rows] = np.where(read[:, 0] == 0, number, -1)
    for found in np.unique(ids):
        yield (None if found < 0 else int(found)), np.flatnonzero(ids == found)


class UnknownIds:
    """The ids that one registry does not know, each for :data:`UNKNOWN_S`.

    Parameters
    ----------
    clock
        The time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        # The first one that is asked for again is the first in it.
        self._reasons: dict[int, tuple[float, str]] = {}

    def why_not(self, schema_id: int) -> str | None:
        """Why an id is not asked for now; None: it is."""
        now = self._clock()
        for number, (until, _) in [*self._reasons.items()]:
            if until > now:
                break
            self._reasons.pop(number, None)
        if schema_id in self._reasons:
            return self._reasons[schema_id][1]
        if len(self._reasons) < UNKNOWN_AT_ONCE:
            return None
        return (
            f"the schema registry was not asked for its schema {schema_id}: "
            "it did not know many others just before"
        )

    def add(self, schema_id: int, reason: str) -> None:
        """One that the registry has just said that it does not know."""
        self._reasons[schema_id] = self._clock() + UNKNOWN_S, reason


@lru_cache(MAX_CLIENTS)
def unknown_ids(client: RegistryClient) -> UnknownIds:  # noqa: ARG001
    """Those of a registry in this process: a decoder lives for one batch only."""
    return UnknownIds()


class SchemaCache(Generic[T]):
    """What is made of the schema of each id, once; used by one decoder.

    Parameters
    ----------
    make
        Makes it of an id.
    unknown
        The ids that the registry does not know.
    """

    def __init__(self, make: Callable[[int], T], unknown: UnknownIds) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._unknown = unknown

    def get(self, schema_id: int) -> T | str:
        """What was made of an id, or why there is no such schema.

        Raises
        ------
        RunProblem
            When the registry does not answer, or refuses.
        """
        if schema_id in self._made:
            return self._made[schema_id]
        if (why := self._unknown.why_not(schema_id)) is not None:
            return why
        try:
            made = self._make(schema_id)
        except UnknownSchema as problem:
            self._unknown.add(schema_id, problem.message)
            return problem.message
        self._made[schema_id] = made
        return made
