"""Regular expressions: Arroyo's are Rust's, Spark's are Java's.

Both agree on what streams use; Java's look-around and back references are a superset.
Flags and patterns whose groups must be counted have to be literals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions import patterns
from arroyo_nb.functions.signature import Argument, Nulls, ScalarFunction, Signature
from arroyo_nb.schema import BIGINT, BOOLEAN, INT, TEXT, ListOf, quoted_text
from arroyo_nb.source import Span

_FLAGS = frozenset("imsx")


def _literal(argument: Argument, what: str) -> str:
    if argument.literal is None:
        raise Unsupported(
            f"{what} must be a literal", span=argument.span, hint="write it as '...'"
        )
    return argument.literal


def check_pattern(pattern: str, span: Span | None) -> None:
    """Check the literal text of a regular expression.

    Raises
    ------
    CatalogProblem
        When it is none.
    """
    fault = patterns.fault(pattern)
    if fault is not None:
        raise CatalogProblem(
            f"'{pattern}' is not a regular expression: {fault}", span=span
        )


def _letters(flags: Sequence[Argument], also: str = "") -> str:
    """The letters of the flags, where there are any."""
    if not flags:
        return ""
    letters = _literal(flags[0], "the flags")
    unknown = set(letters) - {*_FLAGS, *also}
    if unknown:
        raise CatalogProblem(
            f"unknown regular expression flag '{min(unknown)}'",
            span=flags[0].span,
            hint="known: i, m, s, x; g in regexp_replace",
        )
    return letters


def _pattern(pattern: Argument, flags: str) -> str:
    """The pattern with its flags; those that a literal cannot mean are refused."""
    text = pattern.sql
    if pattern.literal is not None:
        if "x" not in flags:
            check_pattern(pattern.literal, pattern.span)
        text = quoted_text(patterns.java(pattern.literal))
    return f"({quoted_text(f'(?{flags})')} || {text})" if flags else text


def _like(arguments: Sequence[Argument]) -> str:
    text, pattern, *flags = arguments
    return f"({text.sql} RLIKE {_pattern(pattern, _letters(flags))})"


def _count(arguments: Sequence[Argument]) -> str:
    text, pattern, *more = arguments
    letters = _letters(more[1:])
    start = f"substr({text.sql}, {more[0].sql})" if more else text.sql
    return f"CAST(regexp_count({start}, {_pattern(pattern, letters)}) AS BIGINT)"


def _match(arguments: Sequence[Argument]) -> str:
    """The groups of the first match, or the whole match where there are none."""
    text, pattern, *flags = arguments
    java = _pattern(pattern, _letters(flags))
    groups = patterns.groups(_literal(pattern, "the pattern of regexp_match"))
    numbers = range(1, groups + 1) if groups else (0,)
    found = ", ".join(f"regexp_extract({text.sql}, {java}, {n})" for n in numbers)
    return f"IF({text.sql} RLIKE {java}, array({found}), NULL)"


def _group(arguments: Sequence[Argument], place: int) -> str | None:
    """One element of :func:`_match`, by one search: NULL where there is no match.

    Spark's function for a group of the first match gives an empty text then, that for a
    group of all matches gives none. It searches the rest of a text too, which is less
    than to search twice: for whether there is a match, and for the group.
    """
    text, pattern, *flags = arguments
    java = _pattern(pattern, _letters(flags))
    groups = patterns.groups(_literal(pattern, "the pattern of regexp_match"))
    if not 1 <= place <= max(groups, 1):
        return None
    number = place if groups else 0
    return f"try_element_at(regexp_extract_all({text.sql}, {java}, {number}), 1)"


def _replace(arguments: Sequence[Argument]) -> str:
    """The first match only, unless the flag g asks for all: Spark replaces all, so it
    is given the first match alone."""
    text, pattern, by, *flags = arguments
    letters = _letters(flags, also="g")
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


_JAVA = "patterns are Java's: look-around and back references work too"

FUNCTIONS = (
    ScalarFunction(
        "regexp_like",
        (Signature((TEXT, TEXT, TEXT), BOOLEAN, optional=1),),
        _like,
        "does the pattern match anywhere? regexp_like(s, pattern, flags)",
        example="regexp_like('Abc', '^a', 'i') -> true",
        differs=_JAVA,
    ),
    ScalarFunction(
        "regexp_count",
        (Signature((TEXT, TEXT, INT, TEXT), BIGINT, optional=2),),
        _count,
        "how often it matches: regexp_count(s, pattern, start, flags)",
        example="regexp_count('abab', 'a') -> 2",
        differs=_JAVA,
    ),
    ScalarFunction(
        "regexp_match",
        (Signature((TEXT, TEXT, TEXT), ListOf(TEXT), optional=1),),
        _match,
        "groups of the first match, or the match; NULL where there is none",
        Nulls.ALWAYS,
        example="regexp_match('ab12', '([a-z]+)([0-9]+)') -> ['ab', '12']",
        differs=_JAVA,
        element=_group,
    ),
    ScalarFunction(
        "regexp_replace",
        (Signature((TEXT, TEXT, TEXT, TEXT), TEXT, optional=1),),
        _replace,
        "the first match replaced; all with the flag 'g'",
        example="regexp_replace('abab', 'a', 'x', 'g') -> 'xbxb'",
        differs=_JAVA,
    ),
)
