"""What a format puts around the payloads of a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Envelope:
    """What stands before and behind the payload of each record."""

    head: bytes = b""
    tail: bytes = b""

    def sql(self, payload: str) -> str:
        """A payload with it, as Spark SQL text."""
        value = f"CAST({payload} AS BINARY)"
        if self == Envelope():
            return value
        return f"concat(X'{self.head.hex()}', {value}, X'{self.tail.hex()}')"

    def around(self, payloads: pa.ChunkedArray) -> pa.ChunkedArray:
        """Payloads of text with it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = payloads.cast(pa.binary())
        return pc.binary_join_element_wise(self.head, values, self.tail, b"")
