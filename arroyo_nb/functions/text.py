"""Text. Places count characters from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.let_binding import once, repeated
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    Nulls,
    Parameter,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
    same_call,
)
from arroyo_nb.functions.types import is_unsigned
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    INT,
    INT_UNSIGNED,
    NULL,
    TEXT,
    Type,
)

_T, _TT, _TTT = (TEXT,), (TEXT, TEXT), (TEXT, TEXT, TEXT)
_WHOLE, _SHOWN = ParameterKind.WHOLE, ParameterKind.AS_TEXT


def _row(
    name: str,
    parameters: tuple[Parameter, ...],
    result: Type | Callable[[Sequence[Type], Literals], Type],
    template: Template | None,
    doc: str,
    *,
    optional: int = 0,
    aliases: tuple[str, ...] = (),
    example: str,
    datafusion: DataFusionTemplate | None = None,
) -> ScalarFunction:
    signature = Signature(parameters, result, optional=optional)
    return ScalarFunction(
        name,
        (signature,),
        template,
        doc,
        aliases=aliases,
        example=example,
        datafusion=datafusion,
    )


_LARGEST = 2**31 - 2
"""Of a count in Spark: no text is as long, and its negative has a successor."""


def _count(argument: Argument) -> str:
    """A whole number as Spark's INT, which a text is never as long as."""
    if argument.number is not None:
        return str(max(-_LARGEST, min(_LARGEST, argument.number)))
    if argument.type not in (INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED):
        return argument.sql
    cases = f"WHEN {{0}} > {_LARGEST} THEN {_LARGEST} "
    if not is_unsigned(argument.type):
        cases += f"WHEN {{0}} < -{_LARGEST} THEN -{_LARGEST} "
    count = f"(CASE {cases}ELSE CAST({{0}} AS INT) END)"
    return repeated(count, argument.sql)


def _trimmed(side: str) -> Template:
    def template(arguments: Sequence[Argument]) -> str:
        what = f"{arguments[1].sql} " if len(arguments) == 2 else ""
        return f"trim({side} {what}FROM {arguments[0].sql})"

    return template


def _end(function: str, all_but: str) -> Template:
    """An end of a text, or by a negative number all but the other end: of such Spark's
    function is empty.

    Parameters
    ----------
    function
        Spark's.
    all_but
        The SQL text for a negative number.
    """

    def template(arguments: Sequence[Argument]) -> str:
        text, count = arguments[0].sql, _count(arguments[1])
        if (arguments[1].number or -1) >= 0:
            return f"{function}({text}, {count})"
        cut = f"IF({{1}} < 0, {all_but}, {function}({{0}}, {{1}}))"
        return repeated(cut, text, count)

    return template


_left = _end("left", "left({0}, char_length({0}) + {1})")
_right = _end("right", "substr({0}, 1 - {1})")


def _substring_type(types: Sequence[Type], _: Literals) -> Type:
    for type_ in types[1:]:
        if type_ not in (INT, BIGINT, NULL):
            raise CatalogProblem(
                f"the start and the length of substr() are INT or BIGINT, not {type_}",
                hint="write CAST(... AS BIGINT)",
            )
    return TEXT


_NEGATIVE = "the length of a part of a text must not be negative"


def _substring(arguments: Sequence[Argument]) -> str:
    """A start before the text counts as it stands: substr('abc', 0, 2) is 'a'."""
    text, start, *length = arguments
    if length and (length[0].number or 0) < 0:
        raise CatalogProblem(
            _NEGATIVE, span=length[0].span, hint="substr(s, start) goes to the end"
        )
    if (start.number or 0) > 0 and not (length and length[0].number is None):
        return f"substr({', '.join((text.sql, *map(_count, arguments[1:])))})"
    # greatest() passes over a NULL, which the start may be.
    first = "IF({1} < 1, 1, {1})"
    if not length:
        write = f"substr({{0}}, {first})"
    else:
        number = "IF({1} < 1, CAST({1} AS BIGINT) - 1 + {2}, {2})"
        write = (
            "IF({2} < 0 AND {0} IS NOT NULL AND {1} IS NOT NULL, "
            f"raise_error('{_NEGATIVE}'), substr({{0}}, {first}, "
            f"CAST(IF({number} < 0, 0, {number}) AS INT)))"
        )
    texts = [text.sql, *map(_count, arguments[1:])]
    return once(lambda texts: write.format(*texts), texts)


def _split_part(arguments: Sequence[Argument]) -> str:
    texts = [a.sql for a in arguments[:2]]
    return f"split_part({', '.join((*texts, _count(arguments[2])))})"


def _split_part_elsewhere(arguments: Sequence[Argument]) -> str:
    if arguments[2].number == 0:
        raise CatalogProblem(
            "split_part() has no part 0",
            span=arguments[2].span,
            hint="parts count from 1, and from -1 at the end",
        )
    return "" if arguments[1].literal else "split_part({0}, {1}, {2})"


def _replace_elsewhere(arguments: Sequence[Argument]) -> str:
    """Of an empty text each place is one that is replaced, which Spark has not."""
    return "" if arguments[1].literal else "replace({0}, {1}, {2})"


def _overlay(arguments: Sequence[Argument]) -> str:
    """What stands before the start is kept also where the text ends before it."""
    text, new, start, *length = arguments
    texts = [text.sql, new.sql, *map(_count, (start, *length))]
    size = "{3}" if length else "char_length({1})"
    after = f"CAST({{2}} AS BIGINT) + {size}"
    write = (
        "concat(substr({0}, 1, IF({2} < 1, 0, {2} - 1)), {1}, "
        f"substr({{0}}, CAST(IF({after} < 1, 1, {after}) AS INT)))"
    )
    return once(lambda texts: write.format(*texts), texts)


def _character(arguments: Sequence[Argument]) -> str:
    if arguments[0].number == 0:
        raise CatalogProblem(
            "chr() gives no character of the code 0", span=arguments[0].span
        )
    return "chr({0})"


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
        (_SHOWN,),
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
        None,
        "the character of a code point",
        example="chr(8364) -> '€'",
        datafusion=_character,
    ),
    ScalarFunction(
        "concat",
        (Signature((_SHOWN,), TEXT, repeats=True),),
        # Spark's concat() of a NULL is NULL.
        "concat_ws('', {all})",
        "one after the other; NULL counts as nothing",
        Nulls.NEVER,
        example="concat('a', NULL, 1) -> 'a1'",
    ),
    ScalarFunction(
        "concat_ws",
        (Signature((_SHOWN, _SHOWN), TEXT, repeats=True),),
        "concat_ws({all})",
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
        (_SHOWN, _SHOWN),
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
        (_SHOWN, _WHOLE),
        TEXT,
        _left,
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
        (_SHOWN, BIGINT, _SHOWN),
        TEXT,
        None,
        "filled up on the left to n characters, as they are seen",
        optional=1,
        example="lpad('7', 3, '0') -> '007'",
        datafusion=same_call("lpad"),
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
    _row(
        "octet_length",
        _T,
        INT,
        "octet_length({0})",
        "length in bytes",
        example="octet_length('é') -> 2",
    ),
    _row(
        "overlay",
        (_SHOWN, _SHOWN, _WHOLE, _WHOLE),
        TEXT,
        _overlay,
        "overlay(s, new, start, n): n characters from start replaced",
        optional=1,
        example="overlay('abcdef', 'X', 2, 3) -> 'aXef'",
    ),
    ScalarFunction(
        "repeat",
        (Signature((TEXT, _WHOLE), TEXT), Signature((TEXT, BIGINT_UNSIGNED), TEXT)),
        lambda a: f"repeat({a[0].sql}, {_count(a[1])})",
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
        datafusion=_replace_elsewhere,
    ),
    _row(
        "reverse",
        (_SHOWN,),
        TEXT,
        "reverse({0})",
        "back to front",
        example="reverse('abc') -> 'cba'",
    ),
    _row(
        "right",
        (_SHOWN, _WHOLE),
        TEXT,
        _right,
        "the last n characters; all but the first -n",
        example="right('abc', 2) -> 'bc'",
    ),
    _row(
        "rpad",
        (_SHOWN, BIGINT, _SHOWN),
        TEXT,
        None,
        "filled up on the right to n characters, as they are seen",
        optional=1,
        example="rpad('a', 3, '.') -> 'a..'",
        datafusion=same_call("rpad"),
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
        (_SHOWN, _SHOWN, _WHOLE),
        TEXT,
        _split_part,
        "the n-th part between separators, '' where there is none",
        example="split_part('a,b,c', ',', 2) -> 'b'",
        datafusion=_split_part_elsewhere,
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
        (TEXT, _WHOLE, _WHOLE),
        _substring_type,
        _substring,
        "substr(s, start, n): n characters from start",
        optional=1,
        aliases=("substring",),
        example="substr('abcdef', 2, 3) -> 'bcd'",
    ),
    _row(
        "substr_index",
        (_SHOWN, _SHOWN, _WHOLE),
        TEXT,
        lambda a: f"substring_index({a[0].sql}, {a[1].sql}, {_count(a[2])})",
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
        (_SHOWN, _SHOWN, _SHOWN),
        TEXT,
        # Spark takes the first of two like characters, and parts of a character.
        None,
        "characters of the second replaced by those of the third",
        example="translate('abc', 'ab', 'xy') -> 'xyc'",
        datafusion=same_call("translate"),
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
