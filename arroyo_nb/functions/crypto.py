"""Digests and encodings of bytes; text stands for its UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.signature import Argument, ScalarFunction, Signature
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BYTEA, TEXT, Type

# How the digest of 'abc' begins, by the number of bits.
_SHA = {224: "23097d22", 256: "ba7816bf", 384: "cb00753f", 512: "ddaf35a1"}


def _of_bytes(result: Type, *more: Type) -> tuple[Signature, ...]:
    return (Signature((BYTEA, *more), result),)


_ENCODINGS = {
    "hex": "lower(hex({0}))",
    # Spark's has padding, and lines of 76 characters.
    "base64": "translate(base64({0}), '=\\r\\n', '')",
}
_DIGESTS = {
    "md5": "unhex(md5({0}))",
    **{f"sha{bits}": f"unhex(sha2({{0}}, {bits}))" for bits in _SHA},
    **dict.fromkeys(("blake2s", "blake2b", "blake3"), ""),
}
"""What they are in Spark SQL; empty: Spark has none."""


def _chosen(given: Argument, what: str, known: Collection[str]) -> str:
    """The word for one of those that are known; case counts."""
    every = "known: " + ", ".join(known)
    if given.literal is None:
        raise Unsupported(f"the {what} must be a literal", span=given.span, hint=every)
    if given.literal not in known:
        raise CatalogProblem(
            f"unknown {what} '{given.literal}'",
            span=given.span,
            hint=did_you_mean(given.literal.lower(), known) or every,
        )
    return given.literal


def _encode(arguments: Sequence[Argument]) -> str:
    word = _chosen(arguments[1], "encoding", _ENCODINGS)
    return _ENCODINGS[word].format(arguments[0].sql)


def _decode(arguments: Sequence[Argument]) -> str:
    _chosen(arguments[1], "encoding", _ENCODINGS)
    return "decode({0}, {1})"


def _digest(arguments: Sequence[Argument]) -> str:
    word = _chosen(arguments[1], "digest", _DIGESTS)
    return _DIGESTS[word].format(arguments[0].sql)


def _digest_elsewhere(arguments: Sequence[Argument]) -> str:
    word = _chosen(arguments[1], "digest", _DIGESTS)
    return "" if _DIGESTS[word] else "digest({0}, {1})"


FUNCTIONS = (
    ScalarFunction(
        "encode",
        _of_bytes(TEXT, TEXT),
        _encode,
        "bytes as 'hex' (lower case) or 'base64' (without padding)",
        example="encode('az', 'hex') -> '617a'",
    ),
    ScalarFunction(
        "decode",
        (Signature((TEXT, TEXT), BYTEA), Signature((BYTEA, TEXT), BYTEA)),
        None,
        "bytes of 'hex' or 'base64' text (without padding); any other is an error",
        example="decode('617a', 'hex') -> 0x617a",
        datafusion=_decode,
    ),
    ScalarFunction(
        "digest",
        _of_bytes(BYTEA, TEXT),
        _digest,
        "digest(x, 'sha256'): bytes; md5, sha224 to sha512, blake2s, blake2b, blake3",
        example="digest('abc', 'md5') -> 0x900150983cd24fb0d6963f7d28e17f72",
        datafusion=_digest_elsewhere,
    ),
    ScalarFunction(
        "md5",
        _of_bytes(TEXT),
        "md5({0})",
        "MD5 in hexadecimal digits",
        example="md5('abc') -> '900150983cd24fb0d6963f7d28e17f72'",
    ),
    *(
        ScalarFunction(
            f"sha{bits}",
            _of_bytes(BYTEA),
            f"unhex(sha2({{0}}, {bits}))",
            f"SHA-{bits}, as bytes",
            example=f"left(encode(sha{bits}('abc'), 'hex'), 8) -> '{digits}'",
        )
        for bits, digits in _SHA.items()
    ),
)
