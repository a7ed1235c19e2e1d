"""Regular expressions: Arroyo's are those of Rust's regex crate, Spark's are Java's.

A literal pattern that both mean alike (:mod:`~arroyo_nb.functions.common_patterns`)
stays in Spark; DataFusion matches any other, and what is no literal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions import patterns
from arroyo_nb.functions.common_patterns import CommonPattern, common_pattern
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
    same_call,
)
from arroyo_nb.schema import BIGINT, BOOLEAN, TEXT, ListOf, quoted_text
from arroyo_nb.source import Span

_FLAGS = frozenset("imsxU")
_SHOWN = ParameterKind.AS_TEXT


def matches(text: str, pattern: str, *, any_case: bool) -> str:
    """The Spark SQL of ``text ~ pattern``, or of ``~*``, for a literal pattern that
    Spark matches (:func:`in_spark`)."""
    found = common_pattern(pattern, any_case=any_case)
    assert found is not None, "DataFusion matches it"
    return f"({text} RLIKE {quoted_text(found.java)})"


def _common(literal: str | None, *, any_case: bool = False) -> CommonPattern | None:
    return None if literal is None else common_pattern(literal, any_case=any_case)


def in_spark(literal: str | None, *, any_case: bool) -> bool:
    """Whether Spark matches a pattern, by its literal text."""
    return _common(literal, any_case=any_case) is not None


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
            f"'{pattern}' is not a regular expression: {fault}",
            span=span,
            hint=patterns.ANOTHER_WAY if "Rust" in fault else None,
        )


def _letters(flags: Sequence[Argument], also: str = "") -> str:
    """The letters of the flags, where there are any."""
    if not flags:
        return ""
    letters = flags[0].literal
    if letters is None:
        return _UNKNOWN
    if not letters:
        raise CatalogProblem(
            "the flags of a regular expression must not be empty",
            span=flags[0].span,
            hint="leave them out",
        )
    unknown = set(letters) - {*_FLAGS, *also}
    if unknown:
        raise CatalogProblem(
            f"unknown regular expression flag '{min(unknown)}'",
            span=flags[0].span,
            hint="known: i, m, s, x, U; g in regexp_replace",
        )
    return letters


# Flags that are no literal: they may be any.
_UNKNOWN = "?"


def _shared(
    pattern: Argument, flags: Sequence[Argument], *, also: str = ""
) -> CommonPattern | None:
    """The pattern, where both engines mean it alike; a literal that is none is
    refused."""
    letters = _letters(flags, also)
    if pattern.literal is not None and "x" not in letters:
        check_pattern(pattern.literal, pattern.span)
    if not set(letters) <= {"i", *also}:
        return None
    return _common(pattern.literal, any_case="i" in letters)


def _spark(pattern: Argument, flags: Sequence[Argument], also: str = "") -> str:
    found = _shared(pattern, flags, also=also)
    assert found is not None, "DataFusion matches it"
    return quoted_text(found.java)


def _like(arguments: Sequence[Argument]) -> str:
    text, pattern, *flags = arguments
    return f"({text.sql} RLIKE {_spark(pattern, flags)})"


def _like_elsewhere(arguments: Sequence[Argument]) -> str:
    if _shared(arguments[1], arguments[2:]):
        return ""
    return same_call("regexp_like")(arguments)


def _count(arguments: Sequence[Argument]) -> str:
    text, pattern, *more = arguments
    found = f"regexp_count({text.sql}, {_spark(pattern, more[1:])})"
    return f"coalesce(CAST({found} AS BIGINT), 0L)"


def _count_elsewhere(arguments: Sequence[Argument]) -> str:
    _, pattern, *more = arguments
    # It alone takes flags that are empty.
    found = _shared(pattern, [flags for flags in more[1:] if flags.literal != ""])
    if found is not None and not found.may_be_empty and not more:
        return ""
    return same_call("regexp_count")(arguments)


def _match(arguments: Sequence[Argument]) -> str:
    """The groups of the first match, or the whole match where there are none."""
    text, pattern, *flags = arguments
    found = _shared(pattern, flags)
    assert found is not None, "DataFusion matches it"
    java = quoted_text(found.java)
    numbers = range(1, found.groups + 1) if found.groups else (0,)
    matched = ", ".join(f"regexp_extract({text.sql}, {java}, {n})" for n in numbers)
    return f"IF({text.sql} RLIKE {java}, array({matched}), NULL)"


def _match_elsewhere(arguments: Sequence[Argument]) -> str:
    if _shared(arguments[1], arguments[2:]):
        return ""
    return same_call("regexp_match")(arguments)


def _group(arguments: Sequence[Argument], place: int) -> str | None:
    """One element of :func:`_match`, by one search: NULL where there is no match.

    Spark's function for a group of the first match gives an empty text then, that for a
    group of all matches gives none. It searches the rest of a text too, which is less
    than to search twice: for whether there is a match, and for the group.
    """
    text, pattern, *flags = arguments
    found = _shared(pattern, flags)
    if found is None or not 1 <= place <= max(found.groups, 1):
        return None
    java = quoted_text(found.java)
    number = place if found.groups else 0
    return f"try_element_at(regexp_extract_all({text.sql}, {java}, {number}), 1)"


def _replace(arguments: Sequence[Argument]) -> str:
    """The first match only, unless the flag g asks for all: Spark replaces all, so it
    is given the first match alone."""
    text, pattern, by, *flags = arguments
    java = _spark(pattern, flags, "g")
    # Java knows no ${1}; behind it stands no digit that would be one of its number.
    new = quoted_text(_BRACED_GROUP.sub(r"$\1", by.literal or ""))
    if "g" in _letters(flags, also="g"):
        return f"regexp_replace({text.sql}, {java}, {new})"
    place, found = (f"{f}({text.sql}, {java})" for f in ("regexp_instr", _FIRST))
    before = f"substr({text.sql}, 1, {place} - 1)"
    after = f"substr({text.sql}, {place} + char_length({found}))"
    replaced = f"concat({before}, regexp_replace({found}, {java}, {new}), {after})"
    return f"IF({place} = 0, {text.sql}, {replaced})"


def _replace_elsewhere(arguments: Sequence[Argument]) -> str:
    _, pattern, by, *flags = arguments
    found = _shared(pattern, flags, also="g")
    alike = (
        found is not None
        and not found.may_be_empty
        and by.literal is not None
        and _ALIKE.fullmatch(by.literal)
        and max(map(int, _GROUPS.findall(by.literal)), default=0) <= found.groups
    )
    return "" if alike else same_call("regexp_replace")(arguments)


_GROUPS = re.compile(r"\$\{?([0-9])")
# A replacement without groups, or with groups that are numbered alike.
_ALIKE = re.compile(r"[^$\\]*|(?:[^$\\0-9]|\$\{[1-9]\}|\$[1-9](?!\w))*", re.ASCII)
_BRACED_GROUP = re.compile(r"\$\{([1-9])\}")
_FIRST = "regexp_substr"


FUNCTIONS = (
    ScalarFunction(
        "regexp_like",
        (Signature((TEXT, TEXT, TEXT), BOOLEAN, optional=1),),
        _like,
        "does the pattern match anywhere? regexp_like(s, pattern, flags)",
        example="regexp_like('Abc', '^a', 'i') -> true",
        datafusion=_like_elsewhere,
    ),
    ScalarFunction(
        "regexp_count",
        (Signature((_SHOWN, _SHOWN, BIGINT, _SHOWN), BIGINT, optional=2),),
        _count,
        "how often it matches: regexp_count(s, pattern, start, flags); 0 of NULL",
        Nulls.NEVER,
        example="regexp_count('abab', 'a') -> 2",
        datafusion=_count_elsewhere,
    ),
    ScalarFunction(
        "regexp_match",
        (Signature((_SHOWN,) * 3, ListOf(TEXT), optional=1),),
        _match,
        "groups of the first match, or the match; NULL where there is none",
        Nulls.ALWAYS,
        example="regexp_match('ab12', '([a-z]+)([0-9]+)') -> ['ab', '12']",
        datafusion=_match_elsewhere,
        element=_group,
    ),
    ScalarFunction(
        "regexp_replace",
        (Signature((_SHOWN,) * 4, TEXT, optional=1),),
        _replace,
        "the first match replaced; all with the flag 'g'",
        example="regexp_replace('abab', 'a', 'x', 'g') -> 'xbxb'",
        datafusion=_replace_elsewhere,
    ),
)
