"""Text. Places count characters from 1."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
    text_of,
)
from arroyo_nb.schema import BIGINT, BOOLEAN, BYTEA, INT, TEXT, Type

_T, _TT, _TTT = (TEXT,), (TEXT, TEXT), (TEXT, TEXT, TEXT)


def _row(
    name: str,
    parameters: tuple[Type, ...],
    result: Type,
    template: Template,
    doc: str,
    *,
    optional: int = 0,
    aliases: tuple[str, ...] = (),
    example: str,
) -> ScalarFunction:
    signature = Signature(parameters, result, optional=optional)
    return ScalarFunction(
        name, (signature,), template, doc, aliases=aliases, example=example
    )


def _concat(arguments: Sequence[Argument]) -> str:
    # Spark's concat() of a NULL is NULL.
    return f"concat_ws('', {', '.join(map(text_of, arguments))})"


def _concat_ws(arguments: Sequence[Argument]) -> str:
    separator, *parts = arguments
    return f"concat_ws({', '.join((separator.sql, *map(text_of, parts)))})"


def _trimmed(side: str) -> Template:
    def template(arguments: Sequence[Argument]) -> str:
        what = f"{arguments[1].sql} " if len(arguments) == 2 else ""
        return f"trim({side} {what}FROM {arguments[0].sql})"

    return template


def _substring(arguments: Sequence[Argument]) -> str:
    """A start before the text counts as it stands: substr('abc', 0, 2) is 'a'."""
    text, start, *length = (a.sql for a in arguments)
    # greatest() passes over a NULL, which the start may be.
    first = f"IF({start} < 1, 1, {start})"
    if not length:
        return f"substr({text}, {first})"
    number = f"IF({start} < 1, {start} - 1, 0) + {length[0]}"
    return f"substr({text}, {first}, {number})"


def _split_part(arguments: Sequence[Argument]) -> str:
    if arguments[2].number == 0:
        raise CatalogProblem(
            "split_part() has no part 0",
            span=arguments[2].span,
            hint="parts count from 1, and from -1 at the end",
        )
    return f"split_part({', '.join(a.sql for a in arguments)})"


_WORDS = (
    "regexp_extract_all({0}, '[\\\\p{{L}}\\\\p{{N}}]+|[^\\\\p{{L}}\\\\p{{N}}]+', 0)"
)

FUNCTIONS = (
    _row(
        "ascii",
        _T,
        INT,
        "ascii({0})",
        "code of the first character",
        example="ascii('a') -> 97",
    ),
    _row(
        "bit_length",
        _T,
        INT,
        "bit_length({0})",
        "length in bits",
        example="bit_length('é') -> 16",
    ),
    _row(
        "btrim",
        _TT,
        TEXT,
        _trimmed("BOTH"),
        "without blanks (or the given characters) at both ends",
        optional=1,
        aliases=("trim",),
        example="btrim('  a b ') -> 'a b'",
    ),
    _row(
        "character_length",
        _T,
        INT,
        "char_length({0})",
        "length in characters",
        aliases=("length", "char_length"),
        example="character_length('café') -> 4",
    ),
    _row(
        "chr",
        (BIGINT,),
        TEXT,
        # Spark's chr() counts modulo 256.
        "decode(unhex(lpad(hex({0}), 8, '0')), 'UTF-32')",
        "the character of a code point",
        example="chr(8364) -> '€'",
    ),
    ScalarFunction(
        "concat",
        (Signature((ParameterKind.ANY,), TEXT, repeats=True),),
        _concat,
        "one after the other; NULL counts as nothing",
        Nulls.NEVER,
        example="concat('a', NULL, 1) -> 'a1'",
    ),
    ScalarFunction(
        "concat_ws",
        (Signature((TEXT, ParameterKind.ANY), TEXT, repeats=True),),
        _concat_ws,
        "joined with a separator; NULLs are left out",
        example="concat_ws('-', 'a', NULL, 'b') -> 'a-b'",
    ),
    _row(
        "contains",
        _TT,
        BOOLEAN,
        "contains({0}, {1})",
        "is the second in the first?",
        example="contains('abc', 'b') -> true",
    ),
    _row(
        "ends_with",
        _TT,
        BOOLEAN,
        "endswith({0}, {1})",
        "does it end with the second?",
        example="ends_with('abc', 'bc') -> true",
    ),
    _row(
        "find_in_set",
        _TT,
        INT,
        "find_in_set({0}, {1})",
        "place in a list separated by commas, 0 where it is not",
        example="find_in_set('b', 'a,b,c') -> 2",
    ),
    _row(
        "initcap",
        _T,
        TEXT,
        # Spark's initcap() ends words at blanks alone.
        f"array_join(transform({_WORDS}, "
        "w -> concat(upper(left(w, 1)), lower(substr(w, 2)))), '')",
        "each word with a capital; words end at what is no letter or digit",
        example="initcap('new york-city') -> 'New York-City'",
    ),
    _row(
        "left",
        (TEXT, INT),
        TEXT,
        # Spark's left() of a negative number is empty.
        "IF({1} < 0, left({0}, char_length({0}) + {1}), left({0}, {1}))",
        "the first n characters; all but the last -n",
        example="left('abc', 2) -> 'ab'",
    ),
    _row(
        "levenshtein",
        _TT,
        INT,
        "levenshtein({0}, {1})",
        "edits between two texts",
        example="levenshtein('kitten', 'sitting') -> 3",
    ),
    _row(
        "lower",
        _T,
        TEXT,
        "lower({0})",
        "in lower case",
        example="lower('ABC') -> 'abc'",
    ),
    _row(
        "lpad",
        (TEXT, INT, TEXT),
        TEXT,
        "lpad({all})",
        "filled up on the left to n characters",
        optional=1,
        example="lpad('7', 3, '0') -> '007'",
    ),
    _row(
        "ltrim",
        _TT,
        TEXT,
        _trimmed("LEADING"),
        "without blanks (or the given characters) at the start",
        optional=1,
        example="ltrim('  a ') -> 'a '",
    ),
    ScalarFunction(
        "octet_length",
        (Signature((TEXT,), INT), Signature((BYTEA,), INT)),
        "octet_length({0})",
        "length in bytes",
        example="octet_length('é') -> 2",
    ),
    _row(
        "overlay",
        (TEXT, TEXT, INT, INT),
        TEXT,
        "overlay({all})",
        "overlay(s, new, start, n): n characters from start replaced",
        optional=1,
        example="overlay('abcdef', 'X', 2, 3) -> 'aXef'",
    ),
    _row(
        "repeat",
        (TEXT, INT),
        TEXT,
        "repeat({0}, {1})",
        "n times the text",
        example="repeat('ab', 2) -> 'abab'",
    ),
    _row(
        "replace",
        _TTT,
        TEXT,
        "replace({0}, {1}, {2})",
        "each second by the third text",
        example="replace('a.b.c', '.', '-') -> 'a-b-c'",
    ),
    _row(
        "reverse",
        _T,
        TEXT,
        "reverse({0})",
        "back to front",
        example="reverse('abc') -> 'cba'",
    ),
    _row(
        "right",
        (TEXT, INT),
        TEXT,
        "IF({1} < 0, substr({0}, 1 - {1}), right({0}, {1}))",
        "the last n characters; all but the first -n",
        example="right('abc', 2) -> 'bc'",
    ),
    _row(
        "rpad",
        (TEXT, INT, TEXT),
        TEXT,
        "rpad({all})",
        "filled up on the right to n characters",
        optional=1,
        example="rpad('a', 3, '.') -> 'a..'",
    ),
    _row(
        "rtrim",
        _TT,
        TEXT,
        _trimmed("TRAILING"),
        "without blanks (or the given characters) at the end",
        optional=1,
        example="rtrim(' a  ') -> ' a'",
    ),
    _row(
        "split_part",
        (TEXT, TEXT, INT),
        TEXT,
        _split_part,
        "the n-th part between separators, '' where there is none",
        example="split_part('a,b,c', ',', 2) -> 'b'",
    ),
    _row(
        "starts_with",
        _TT,
        BOOLEAN,
        "startswith({0}, {1})",
        "does it start with the second?",
        example="starts_with('abc', 'ab') -> true",
    ),
    _row(
        "strpos",
        _TT,
        INT,
        "instr({0}, {1})",
        "place of the second in the first, 0 where it is not",
        aliases=("instr", "position"),
        example="strpos('abc', 'c') -> 3",
    ),
    _row(
        "substr",
        (TEXT, INT, INT),
        TEXT,
        _substring,
        "substr(s, start, n): n characters from start",
        optional=1,
        aliases=("substring",),
        example="substr('abcdef', 2, 3) -> 'bcd'",
    ),
    _row(
        "substr_index",
        (TEXT, TEXT, INT),
        TEXT,
        "substring_index({0}, {1}, {2})",
        "what stands before the n-th separator; after it from the end for -n",
        aliases=("substring_index",),
        example="substr_index('a.b.c', '.', 2) -> 'a.b'",
    ),
    _row(
        "to_hex",
        (BIGINT,),
        TEXT,
        "lower(hex({0}))",
        "in hexadecimal digits",
        example="to_hex(255) -> 'ff'",
    ),
    _row(
        "translate",
        _TTT,
        TEXT,
        "translate({0}, {1}, {2})",
        "characters of the second replaced by those of the third",
        example="translate('abc', 'ab', 'xy') -> 'xyc'",
    ),
    _row(
        "upper",
        _T,
        TEXT,
        "upper({0})",
        "in upper case",
        example="upper('abc') -> 'ABC'",
    ),
    ScalarFunction(
        "uuid",
        (Signature((), TEXT),),
        "uuid()",
        "a random UUID",
        Nulls.NEVER,
        volatile="another text",
        example="uuid()",
    ),
)
