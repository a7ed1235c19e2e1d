"""DECIMAL as Debezium has it: its unscaled value's two's complement in base64.

The bytes are big-endian. A whole column at once, and one text by itself: both take the
same texts.
"""

from __future__ import annotations

import base64
import binascii
from decimal import Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CHARS, _BYTES, _NEEDED = 24, 18, 16
_EXACT = Context(prec=60)


def decimal_of(text: str, type_: pa.DataType) -> Decimal | None:
    """The number; None where the text is none of the type."""
    if len(text) % 4:  # Python overlooks a '=' after a whole group
        return None
    try:
        digits = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not 0 < len(digits) <= _BYTES:
        return None
    unscaled = int.from_bytes(digits, "big", signed=True)
    if abs(unscaled) >= 10**type_.precision:
        return None
    return Decimal(unscaled).scaleb(-type_.scale, _EXACT)


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
