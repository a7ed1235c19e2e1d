"""Regular expressions: Arroyo's are Rust's, Spark's are Java's.

Both agree on what streams use; Java's look-around and back references are a superset.
Flags and patterns whose groups must be counted have to be literals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arroyo_nb.errors import Unsupported
from arroyo_nb.functions.signature import Argument, Nulls, ScalarFunction, Signature
from arroyo_nb.schema import BIGINT, BOOLEAN, INT, TEXT, ListOf, quoted_text

_FLAGS = frozenset("imsx")


def _literal(argument: Argument, what: str) -> str:
    if argument.literal is None:
        raise Unsupported(f"{what} must be a literal", hint="write it as '...'")
    return argument.literal


def _pattern(pattern: Argument, flags: str) -> str:
    unknown = set(flags) - _FLAGS
    if unknown:
        raise Unsupported(
            f"unknown regular expression flag '{min(unknown)}'",
            hint="known: i, m, s, x; g in regexp_replace",
        )
    return f"({quoted_text(f'(?{flags})')} || {pattern.sql})" if flags else pattern.sql


def _like(arguments: Sequence[Argument]) -> str:
    text, pattern, *flags = arguments
    letters = _literal(flags[0], "the flags") if flags else ""
    return f"({text.sql} RLIKE {_pattern(pattern, letters)})"


def _count(arguments: Sequence[Argument]) -> str:
    text, pattern, *more = arguments
    letters = _literal(more[1], "the flags") if len(more) > 1 else ""
    start = f"substr({text.sql}, {more[0].sql})" if more else text.sql
    return f"CAST(regexp_count({start}, {_pattern(pattern, letters)}) AS BIGINT)"


def _match(arguments: Sequence[Argument]) -> str:
    """The groups of the first match, or the whole match where there are none."""
    text, pattern, *flags = arguments
    letters = _literal(flags[0], "the flags") if flags else ""
    groups = re.compile(_literal(pattern, "the pattern of regexp_match")).groups
    java = _pattern(pattern, letters)
    numbers = range(1, groups + 1) if groups else (0,)
    found = ", ".join(f"regexp_extract({text.sql}, {java}, {n})" for n in numbers)
    return f"IF({text.sql} RLIKE {java}, array({found}), NULL)"


def _replace(arguments: Sequence[Argument]) -> str:
    """The first match only, unless the flag g asks for all: Spark replaces all, so it
    is given the first match alone."""
    text, pattern, by, *flags = arguments
    letters = _literal(flags[0], "the flags") if flags else ""
    java = _pattern(pattern, letters.replace("g", ""))
    new = by.sql if by.literal is None else quoted_text(java_replacement(by.literal))
    if "g" in letters:
        return f"regexp_replace({text.sql}, {java}, {new})"
    place, found = (f"{f}({text.sql}, {java})" for f in ("regexp_instr", _FIRST))
    before = f"substr({text.sql}, 1, {place} - 1)"
    after = f"substr({text.sql}, {place} + char_length({found}))"
    replaced = f"concat({before}, regexp_replace({found}, {java}, {new}), {after})"
    return f"IF({place} = 0, {text.sql}, {replaced})"


_FIRST = "regexp_substr"
_GROUP = re.compile(r"\$\$|\$\{(\w+)\}|\$(\w+)|\\(\d+)|[\\$]")


def java_replacement(text: str) -> str:
    r"""A replacement as Java reads it: groups ``$1``, ``${1}``, ``\1`` and ``$name``.

    >>> java_replacement(r"${1}-\2 $$ $name")
    '$1-$2 \\$ ${name}'
    """

    def rewritten(found: re.Match[str]) -> str:
        group = found[1] or found[2] or found[3]
        if group is None:
            return "\\" + found[0][0]
        return f"${group}" if group.isdigit() else f"${{{group}}}"

    return _GROUP.sub(rewritten, text)


FUNCTIONS = (
    ScalarFunction(
        "regexp_like",
        (Signature((TEXT, TEXT, TEXT), BOOLEAN, optional=1),),
        _like,
        "does the pattern match anywhere? regexp_like(s, pattern, flags)",
    ),
    ScalarFunction(
        "regexp_count",
        (Signature((TEXT, TEXT, INT, TEXT), BIGINT, optional=2),),
        _count,
        "how often it matches: regexp_count(s, pattern, start, flags)",
    ),
    ScalarFunction(
        "regexp_match",
        (Signature((TEXT, TEXT, TEXT), ListOf(TEXT), optional=1),),
        _match,
        "groups of the first match, or the match; NULL where there is none",
        Nulls.ALWAYS,
    ),
    ScalarFunction(
        "regexp_replace",
        (Signature((TEXT, TEXT, TEXT, TEXT), TEXT, optional=1),),
        _replace,
        "the first match replaced; all with the flag 'g'",
    ),
)
