"""Digests and encodings of bytes; text stands for its UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import Argument, ScalarFunction, Signature
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BYTEA, TEXT, Type, quoted_text

# How the digest of 'abc' begins, by the number of bits.
_SHA = {224: "23097d22", 256: "ba7816bf", 384: "cb00753f", 512: "ddaf35a1"}


def _of_bytes(result: Type, *more: Type) -> tuple[Signature, ...]:
    return (Signature((BYTEA, *more), result),)


def _choice(given: Argument, what: str, cases: dict[str, str]) -> str:
    argument = given.sql
    if given.literal is not None:
        word = given.literal.lower()
        if word not in cases:
            raise CatalogProblem(
                f"unknown {what} '{given.literal}'",
                span=given.span,
                hint=did_you_mean(word, cases),
            )
        return cases[word]
    arms = "".join(f" WHEN {quoted_text(k)} THEN {v}" for k, v in cases.items())
    known = ", ".join(cases)
    failure = (
        f"concat({quoted_text(f'unknown {what} ')}, {argument}, '; known: {known}')"
    )
    return f"(CASE lower({argument}){arms} ELSE raise_error({failure}) END)"


def _encode(arguments: Sequence[Argument]) -> str:
    value, encoding = arguments[0].sql, arguments[1]
    # Spark's has padding, and lines of 76 characters.
    base64 = f"translate(base64({value}), '=\\r\\n', '')"
    cases = {"hex": f"lower(hex({value}))", "base64": base64}
    return _choice(encoding, "encoding", cases)


def _decode(arguments: Sequence[Argument]) -> str:
    value, encoding = arguments[0].sql, arguments[1]
    cases = {"hex": f"unhex({value})", "base64": f"unbase64({value})"}
    return _choice(encoding, "encoding", cases)


def _digest(arguments: Sequence[Argument]) -> str:
    value, method = arguments[0].sql, arguments[1]
    cases = {f"sha{bits}": f"unhex(sha2({value}, {bits}))" for bits in _SHA}
    return _choice(method, "digest", {"md5": f"unhex(md5({value}))", **cases})


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
        (Signature((TEXT, TEXT), BYTEA),),
        _decode,
        "bytes of 'hex' or 'base64' text",
        example="decode('617a', 'hex') -> 0x617a",
    ),
    ScalarFunction(
        "digest",
        _of_bytes(BYTEA, TEXT),
        _digest,
        "digest(x, 'sha256'): bytes; md5 and sha224 to sha512",
        example="digest('abc', 'md5') -> 0x900150983cd24fb0d6963f7d28e17f72",
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
