"""Texts as numbers and truth values, as Spark SQL.

Spark reads more than Arrow: blanks around a number, ``1d``, ``0x1p3``. What Arrow does
not read gets a character of no width, which Spark reads neither: the failure, which
shows the value, is Spark's own.
"""

from __future__ import annotations

from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.literals import FALSE_WORDS, TRUE_WORDS
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    Decimal,
    Type,
    quoted_text,
    spark_type,
)

UNREAD_MARK = "\u200b"
"""What a text that Arrow does not read is given, so that Spark does not either."""
_NOT_WHOLE = "[^0-9+-]"
_NOT_FLOATING = "[^0-9.+\\-eEinfatyINFATY]|(?<=[0-9.])[fF]"
_NOT_DECIMAL = "[^0-9.+-]"
_BLANKS = "(?U)^\\s+|\\s+\\z"
_ZEROS = ("", "+", "-", ".", "+.", "-.")
"""Texts without a digit, which Arrow reads as 0 where a DECIMAL has a fraction."""


def text_as(value: str, target: Type, word: str) -> str:
    """A text as a number or BOOLEAN, whose range Spark's type has.

    Parameters
    ----------
    word
        CAST or TRY_CAST.
    """
    as_target = f"AS {spark_type(target)}"
    if target == BOOLEAN:
        return once(lambda texts: _boolean(texts[0], word), [value])
    if target in (FLOAT, DOUBLE):
        cast = f"{word}({_marked('{0}', _NOT_FLOATING)} {as_target})"
        nan = f"CAST('NaN' {as_target})"
        signed = "length({0}) = 4 AND lower({0}) IN ('+nan', '-nan')"
        return once(
            lambda t: f"IF({signed}, {nan}, {cast})".replace("{0}", t[0]), [value]
        )
    if isinstance(target, Decimal):
        trimmed = _trimmed(value)
        if not target.scale:
            return f"{word}({_marked(trimmed, _NOT_DECIMAL)} {as_target})"
        cast = f"{word}({_marked('{0}', _NOT_DECIMAL)} {as_target})"
        zeros = ", ".join(map(quoted_text, _ZEROS))
        zero = f"CAST(0 {as_target})"
        return once(
            lambda t: f"IF({{0}} IN ({zeros}), {zero}, {cast})".replace("{0}", t[0]),
            [trimmed],
        )
    # A DECIMAL to Spark, which has fractions; other whole numbers have none.
    assert target != BIGINT_UNSIGNED or spark_type(target).endswith(",0)")
    return f"{word}({_marked(value, _NOT_WHOLE)} {as_target})"


def _boolean(value: str, word: str) -> str:
    shown = f"lower({_trimmed(value)})"
    words = [", ".join(map(quoted_text, words)) for words in (TRUE_WORDS, FALSE_WORDS)]
    other = f"{word}(concat({value}, {quoted_text(UNREAD_MARK)}) AS boolean)"
    return (
        f"CASE WHEN {shown} IN ({words[0]}) THEN TRUE "
        f"WHEN {shown} IN ({words[1]}) THEN FALSE ELSE {other} END"
    )


def _trimmed(value: str) -> str:
    return f"regexp_replace({value}, {quoted_text(_BLANKS)}, '')"


def _marked(value: str, pattern: str) -> str:
    replacement = quoted_text(f"$0{UNREAD_MARK}")
    return f"regexp_replace({value}, {quoted_text(pattern)}, {replacement})"
