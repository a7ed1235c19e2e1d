"""Payloads that hold several records: a line each, or behind their lengths
(arroyo-semantics c.4).

The option ``framing`` stands beside the format: a payload is split first, and each part
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
    "'newline': a payload holds several records, a line each; 'length': each behind "
    "its length in bytes, a varint (not in Arroyo)",
)
MAX_LENGTH = Option(
    "framing.newline.max_length",
    OptionKind.UINT,
    "bytes of a line that are read; the rest of a longer one is cut off",
)
FRAMING_OPTIONS = (FRAMING, MAX_LENGTH)
NEWLINE, LENGTH = "newline", "length"
FRAMINGS = (NEWLINE, LENGTH)
"""The values of the option."""


def framed(
    decoder: PayloadDecoder, options: Mapping[str, OptionValue]
) -> PayloadDecoder:
    """A decoder of payloads as a table's options frame them."""
    framing = options.get(FRAMING.name)
    if framing is None:
        return decoder
    if framing == LENGTH:
        return _Lengths(decoder)
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
        return _placed(self.inner.decode(lines), numbers)


def _placed(found: DecodedPayloads, numbers: pa.Array) -> DecodedPayloads:
    """What was decoded of parts, with the number of the payload that each is of."""
    bad = tuple((numbers[part].as_py(), why) for part, why in found.bad)
    return replace(found, numbers=numbers.take(found.numbers), bad=bad)


@dataclass(frozen=True)
class _Lengths:
    """Decodes payloads of records behind their lengths. A payload whose lengths do not
    go up to its end is bad as a whole: where its records begin is not known."""

    inner: PayloadDecoder

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads; each bad record is told with its payload."""
        import pyarrow as pa

        records: list[bytes] = []
        numbers: list[int] = []
        bad: list[tuple[int, str]] = []
        for number, payload in enumerate(payloads.to_pylist()):
            try:
                found = split_by_length(payload)
            except ValueError as problem:
                bad.append((number, str(problem)))
                continue
            records += found
            numbers += [number] * len(found)
        decoded = self.inner.decode(pa.array(records, pa.binary()))
        placed = _placed(decoded, pa.array(numbers, pa.int64()))
        return replace(placed, bad=(*bad, *placed.bad))


_LONGEST_VARINT = 5
"""A length has 32 bits at most."""


def split_by_length(payload: bytes) -> list[bytes]:
    """The records of a payload, each behind its length as a varint.

    Raises
    ------
    ValueError
        When the lengths do not go up to the end.

    >>> split_by_length(bytes([2]) + b"ab" + bytes([0, 1]) + b"c")
    [b'ab', b'', b'c']
    """
    records, at = [], 0
    while at < len(payload):
        length = shift = 0
        for byte in payload[at : at + _LONGEST_VARINT]:
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            raise ValueError(f"the length at byte {at + 1} does not end")
        begin = at + shift // 7
        at = begin + length
        if at > len(payload):
            raise ValueError(
                f"a record of {length:,} bytes begins at byte {begin + 1}, and "
                f"{len(payload) - begin:,} are left"
            )
        records.append(payload[begin:at])
    return records
