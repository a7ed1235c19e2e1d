"""What a text of a DECIMAL is: a number, or bytes as Debezium has them.

The bytes are the unscaled value's two's complement in base64, big-endian. Nothing in
``"1999"`` tells which of the two it is, so the schema beside a record decides, then the
table's option; without them such a text is bad data. A whole column at once, and one
text by itself: both take the same texts.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CHARS, _BYTES, _NEEDED = 24, 18, 16
_EXACT = Context(prec=60)

NUMBER: Final = "number"
"""The form of a text that is the number itself."""

EITHER: Final = "either"
"""The form of a text that is read as what it can be, if that is one thing only."""

TextForm: TypeAlias = "str | int"
"""What a text of a column is: :data:`NUMBER`, :data:`EITHER`, or bytes of a number with
so many digits behind its point."""

_PLAIN_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"
_PLAIN = re.compile(_PLAIN_NUMBER[:-1] + r"\Z")
_ONLY_A_NUMBER = re.compile(r"[-.]")
"""What no base64 has."""
_ONLY_NUMBERS = r"^(?:-[0-9]+|-?[0-9]+\.[0-9]+)$"


@dataclass
class PlainTexts:
    """How many texts were taken for numbers because they cannot be anything else."""

    count: int = 0


@dataclass(frozen=True)
class DecimalForms:
    """What the texts of a record's DECIMALs are.

    Parameters
    ----------
    usual
        What the table says of all of them: ``number``, ``string``, ``bytes``, or
        :data:`EITHER`.
    told
        What the schema beside the record says of some, by the path of the column
        (``price``, ``after.prices[]``): the digits behind the point of bytes, or None:
        a number.
    plain
        Counts texts that were :data:`EITHER`, and numbers.
    """

    usual: str = NUMBER
    told: frozenset[tuple[str, int | None]] = frozenset()
    plain: PlainTexts = field(default_factory=PlainTexts, compare=False)

    def form(self, path: str, scale: int) -> TextForm:
        """That of a column of so many digits behind the point."""
        if path in self._by_path:
            told = self._by_path[path]
            return NUMBER if told is None else told
        if self.usual == "bytes":
            return scale
        return EITHER if self.usual == EITHER else NUMBER

    def with_told(self, told: Iterable[tuple[str, int | None]]) -> DecimalForms:
        """The same for records that have a schema beside them."""
        return replace(self, told=frozenset(told))

    def below(self, name: str) -> DecimalForms:
        """The same for records that are a field of another."""
        return self.with_told((f"{name}.{path}", scale) for path, scale in self.told)

    @cached_property
    def _by_path(self) -> dict[str, int | None]:
        return dict(self.told)


NUMBERS = DecimalForms()
"""Where every text is the number."""


def form_of(text: str, scale: int) -> TextForm | None:
    """The form of a text that may be :data:`EITHER`; None: it can be both.

    >>> form_of("19.99", 2), form_of("B88=", 2), form_of("199", 2)
    ('number', 2, 'number')
    >>> form_of("1999", 2)
    """
    if not _PLAIN.match(text):
        return scale
    return None if len(text) % 4 == 0 and not _ONLY_A_NUMBER.search(text) else NUMBER


def decimal_of(text: str, type_: pa.DataType, scale: int) -> Decimal | None:
    """The number of bytes with so many digits behind its point; None where the text is
    none of the type."""
    if len(text) % 4:  # Python overlooks a '=' after a whole group
        return None
    try:
        digits = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not 0 < len(digits) <= _BYTES:
        return None
    unscaled = int.from_bytes(digits, "big", signed=True)
    number = Decimal(unscaled).scaleb(-scale, _EXACT)
    if number.scaleb(type_.scale, _EXACT).copy_abs() >= 10**type_.precision:
        return None
    exact = number.quantize(Decimal(1).scaleb(-type_.scale), context=_EXACT)
    return exact if exact == number else None


def decimals_of(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """The numbers of a column; NULL where a text is.

    Raises
    ------
    ArrowInvalid
        When a text is no number of the type.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.fill_null(texts, "AA==")
    lengths = pc.binary_length(filled).to_numpy()
    if ((lengths == 0) | (lengths % 4 != 0) | (lengths > _CHARS)).any():
        raise pa.ArrowInvalid("not the base64 of a number")
    padded = pc.utf8_lpad(filled, _CHARS, "A")
    if (pc.binary_length(padded).to_numpy() != _CHARS).any():
        raise pa.ArrowInvalid("not the base64 of a number")
    chars = np.frombuffer(padded.buffers()[2], np.uint8, _CHARS * len(texts))
    bytes_, missing = _decoded(chars.reshape(-1, _CHARS))
    # The sign is the first bit of what was written, not of what fills it up.
    first = _BYTES - lengths // 4 * 3
    negative = bytes_[np.arange(len(texts)), first] >= 128
    filling = np.arange(_BYTES) < first[:, None]
    bytes_[filling & negative[:, None]] = 255
    for count in (1, 2):
        short = missing == count
        bytes_[short] = np.roll(bytes_[short], count, axis=1)
        bytes_[short, :count] = np.where(negative[short], 255, 0)[:, None]
    beyond, kept = bytes_[:, : _BYTES - _NEEDED], bytes_[:, _BYTES - _NEEDED :]
    sign = np.where(negative, 255, 0)[:, None]
    if (beyond != sign).any() or ((kept[:, 0] >= 128) != negative).any():
        raise pa.ArrowInvalid("a number of too many digits")
    little_endian = pa.py_buffer(np.ascontiguousarray(kept[:, ::-1]))
    made = pa.Array.from_buffers(type_, len(texts), [None, little_endian])
    made.validate(full=True)
    return pc.if_else(texts.is_valid(), made, None)


def either_of(
    texts: pa.Array, type_: pa.DataType, plain: PlainTexts
) -> pa.Array | None:
    """The numbers of a column whose texts are all of one form; None: of several, or of
    one that can be both.

    Raises
    ------
    ArrowInvalid
        When a text is no number of the type.
    """
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, _PLAIN_NUMBER)).as_py():
        return decimals_of(texts, type_)
    if not pc.all(pc.match_substring_regex(texts, _ONLY_NUMBERS)).as_py():
        return None
    numbers = texts.cast(type_)
    plain.count += len(texts) - texts.null_count
    return numbers


def _decoded(
    chars: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of texts of one length, and how many of the last are no bytes."""
    import numpy as np
    import pyarrow as pa

    values = np.full(256, 255, np.uint8)
    values[list(_ALPHABET)] = np.arange(64)
    sextets = values[chars].astype(np.uint32)
    last = chars[:, -2:] == ord("=")
    missing = np.where(last[:, 1], 1 + last[:, 0], 0)
    sextets[:, -2:][last & (missing > 0)[:, None]] = 0
    if (sextets == 255).any():
        raise pa.ArrowInvalid("not base64")
    quads = sextets.reshape(len(chars), -1, 4)
    triples = (
        quads[..., 0] << 18 | quads[..., 1] << 12 | quads[..., 2] << 6 | quads[..., 3]
    )
    parts = [(triples >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)]
    return np.stack(parts, axis=-1).reshape(len(chars), -1), missing
