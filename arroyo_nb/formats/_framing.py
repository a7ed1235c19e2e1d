"""Payloads that hold several records, a line each (arroyo-semantics c.4).

The option ``framing`` stands beside the format: a payload is split first, and each line
is a record of the format. Files are lines by themselves, so there it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.formats import DecodedPayloads, PayloadDecoder

FRAMING = Option(
    "framing",
    OptionKind.STRING,
    "'newline': a payload holds several records, a line each",
)
MAX_LENGTH = Option(
    "framing.newline.max_length",
    OptionKind.UINT,
    "bytes of a line that are read; the rest of a longer one is cut off",
)
FRAMING_OPTIONS = (FRAMING, MAX_LENGTH)
NEWLINE = "newline"


def framed(
    decoder: PayloadDecoder, options: Mapping[str, OptionValue]
) -> PayloadDecoder:
    """A decoder of payloads as a table's options frame them."""
    if options.get(FRAMING.name) is None:
        return decoder
    longest = options.get(MAX_LENGTH.name)
    return _Lines(decoder, None if longest is None else int(str(longest)))


@dataclass(frozen=True)
class _Lines:
    """Decodes payloads of lines; an empty line is no record."""

    inner: PayloadDecoder
    longest: int | None

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads; each bad line is told with its payload."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # The text kernels take bytes that are no UTF-8 for what they are.
        split = pc.split_pattern(payloads.cast(pa.binary()), b"\n")
        lines, numbers = pc.list_flatten(split), pc.list_parent_indices(split)
        ends = pc.binary_slice(lines, -1, None)
        lines = pc.if_else(pc.equal(ends, b"\r"), pc.binary_slice(lines, 0, -1), lines)
        holds = pc.not_equal(pc.binary_length(lines), 0)
        lines, numbers = lines.filter(holds), numbers.filter(holds)
        if self.longest is not None:
            lines = pc.binary_slice(lines, 0, self.longest)
        found = self.inner.decode(lines)
        bad = tuple((numbers[line].as_py(), why) for line, why in found.bad)
        return replace(found, numbers=numbers.take(found.numbers), bad=bad)
