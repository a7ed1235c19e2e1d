"""The exact text of a value within a JSON document, as Spark SQL.

Spark's own functions write a value anew: ``1.50`` is ``1.5`` to them, and they do not
tell ``155`` from ``"155"``. Arroyo's give the value as it is written, and of two
members of one name the first. So a document is cut into tokens, and one pass over
them, which counts how deep it is, finds where a value begins and ends.

Arroyo's reader stops where it has found a value, and does not see what is wrong behind
it. So of a document that is broken the values before the place are there: it is cut
there, and what was open is closed and marked (:func:`readable`). JSONPath, which reads
a document first, finds nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from arroyo_nb.functions.let_binding import let, once
from arroyo_nb.schema import quoted_text

Step: TypeAlias = "str | tuple[str]"
"""One step into a document, as SQL: the text of a name, or in a tuple an index."""

# Possessive: a string of thousands of escapes must not be tried in other ways.
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# The last one is a text that does not end.
_TOKEN = rf"{STRING}|[\[\]{{}},:]|[^\s\"\[\]{{}},:]++|\s++|\""
_BLANKS = r"' \t\r\n'"
CONTROL = r"r'[\x00-\x1f]'"
"""What no text of JSON has, but stands between its parts."""
# Behind the end of the document: no bracket brings it back to the first level.
_OVER = -1_000_000_000


def tokens(text: str) -> str:
    """All parts of a document in order, blanks among them."""
    return f"regexp_extract_all({text}, {quoted_text(_TOKEN)}, 0)"


def valid(text: str) -> str:
    """A document itself; NULL where it is not JSON, or is ``null``."""
    # Spark's parser takes names and texts in single quotes, and control characters.
    single = "startswith(__t, '\\'')"
    control = f"startswith(__t, '\"') AND __t RLIKE {CONTROL}"
    odd = f"exists({tokens(text)}, __t -> {single} OR {control})"
    is_odd = f"((contains({text}, '\\'') OR {text} RLIKE {CONTROL}) AND {odd})"
    return f"IF({parsed(text)} IS NULL OR {is_odd}, NULL, {trimmed(text)})"


_MARK = "'\\u0001'"
"""Stands in a value that is broken, and in no other: no text of JSON has it."""

_SCALAR = r"^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)$"
_UNICODE = (
    # Not half of a pair.
    r"u(?:(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_TEXT = rf'^"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|{_UNICODE}))*+"$'
_BEGINS_VALUE = r'^["tfn0-9-]'


def readable(text: str) -> str:
    """A document up to where it is broken, as one that can be searched; NULL where it
    is ``null``. Each list and object that is open there has a last part, which is
    :data:`_MARK`, and so is broken itself: with ``!`` for it, ``{"a": 1, "b": tru``
    becomes ``{"a": 1, "b": _!,!}``."""
    whole = valid(text)
    is_null = f"{trimmed(text)} = 'null'"
    return once(
        lambda texts: (
            f"IF({texts[0]} IS NOT NULL OR {is_null}, {texts[0]}, {_cut(text)})"
        ),
        [whole],
    )


def _cut(text: str) -> str:
    """What is read of a document: ``x`` says which part comes next.

    ====  =======================================================
    v     a value; ``f`` the first one of a list, or its end
    k     the first name of an object, or its end; ``K`` a name
    :     a colon; ``c`` a comma, or an end
    e     nothing: the document is over; ``!`` it is broken
    ====  =======================================================
    """
    is_text = f"(startswith(__t, '\"') AND __t RLIKE {quoted_text(_TEXT)})"
    is_value = f"({is_text} OR __t RLIKE {quoted_text(_SCALAR)})"
    after = "IF(char_length(__a.k) = {}, 'e', 'c')"
    following = f"""CASE
        WHEN __a.x IN ('e', '!') OR {trimmed("__t")} = '' THEN __a.x
        WHEN __t = '{{' AND __a.x IN ('v', 'f') THEN 'k'
        WHEN __t = '[' AND __a.x IN ('v', 'f') THEN 'f'
        WHEN __t = '}}' AND __a.x IN ('k', 'c') AND startswith(__a.k, '}}')
            THEN {after.format(1)}
        WHEN __t = ']' AND __a.x IN ('f', 'c') AND startswith(__a.k, ']')
            THEN {after.format(1)}
        WHEN __t = ',' AND __a.x = 'c' THEN IF(startswith(__a.k, '}}'), 'K', 'v')
        WHEN __t = ':' AND __a.x = ':' THEN 'v'
        WHEN __a.x IN ('k', 'K') AND {is_text} THEN ':'
        WHEN __a.x IN ('v', 'f') AND {is_value} THEN {after.format(0)}
        ELSE '!' END"""
    is_read = "__x <> '!' AND __a.x NOT IN ('e', '!')"
    step = _struct(
        {
            "x": "__x",
            "i": "__a.i + 1",
            "m": f"IF({is_read}, __a.i, __a.m)",
            # What closes all that is open, the innermost first.
            "k": f"CASE WHEN NOT ({is_read}) THEN __a.k "
            "WHEN __t = '{' THEN concat('}', __a.k) "
            "WHEN __t = '[' THEN concat(']', __a.k) "
            "WHEN __t IN ('}', ']') THEN substr(__a.k, 2) ELSE __a.k END",
            # Whether it is broken within a value that is no list or object.
            "b": "__a.b OR __x = '!' AND __a.x IN ('v', 'f') AND "
            f"__t RLIKE {quoted_text(_BEGINS_VALUE)}",
        }
    )
    first = _struct({"x": "'v'", "i": "1", "m": "0", "k": "''", "b": "FALSE"})
    closed = (
        "concat(array_join(slice(__ts, 1, __a.m), ''), "
        f"IF(__a.b, concat('_', {_MARK}), ''), "
        f"regexp_replace(__a.k, '(.)', concat(',', {_MARK}, {quoted_text('$1')})))"
    )
    read = (
        f"aggregate(__ts, {first}, (__a, __t) -> {let('__x', following, step)}, "
        f"__a -> nullif({trimmed(closed)}, ''))"
    )
    return let("__ts", tokens(text), read)


def unbroken(value: str) -> str:
    """A value; NULL where the document is broken within it."""
    return once(
        lambda texts: f"IF(contains({texts[0]}, {_MARK}), NULL, {texts[0]})", [value]
    )


def parsed(text: str, path: str = "$") -> str:
    """What Spark finds at a path, written anew."""
    return f"get_json_object({text}, {quoted_text(path)})"


def trimmed(text: str) -> str:
    """A text without blanks at its ends."""
    return f"trim(BOTH {_BLANKS} FROM {text})"


def find(document: str, steps: Sequence[Step], *, whole: bool = False) -> str:
    """The text of a value; NULL where there is none. One that is broken
    (:func:`unbroken`) has a text, too: it is there.

    Parameters
    ----------
    document
        The SQL of a document.
    steps
        The way to the value.
    whole
        Whether a document that is broken anywhere has no values.
    """
    read = valid if whole else readable
    found = once(lambda texts: read(texts[0]), [document])
    for step in steps:
        is_index = isinstance(step, tuple)
        found = item(found, step[0]) if is_index else member(found, str(step))
    return found if steps else _first(found)


def member(document: str, name: str) -> str:
    """The value of an object's first member of a name."""
    is_it = f"(__a.d = 1 AND __t = ':' AND {decoded('__a.p')} = {name})"
    return _value(document, "{", f"IF(__a.s = 0 AND {is_it}, __a.i + 1, __a.s)")


# An element of the list on the first level comes next.
_NEXT = "(__a.d = 0 AND __t = '[' OR __a.d = 1 AND __t = ',')"


def item(document: str, index: str) -> str:
    """The element of an array at an index that counts from 0."""
    # The commas that have been read, and the bracket, are told by the count.
    begins = f"({_NEXT} AND __a.n = {index})"
    return _value(document, "[", f"IF(__a.s = 0 AND {begins}, __a.i + 1, __a.s)")


def _value(document: str, opening: str, starts: str) -> str:
    """The tokens from a start to the next end of a value on the first level."""
    ends = "(__a.s > 0 AND __a.d = 1 AND __t IN (',', '}', ']'))"
    state = {
        "n": f"IF({_NEXT}, __a.n + 1, __a.n)",
        "p": "IF(__a.d = 1 AND startswith(__t, '\"'), __t, __a.p)",
        "s": starts,
        "e": f"IF(__a.e = 0 AND {ends}, __a.i, __a.e)",
    }
    zero = {"n": "0", "p": "''", "s": "0", "e": "0"}
    found = _scanned("__v", zero, state, "slice(__ts, __a.s, __a.e - __a.s)")
    return let("__v", document, f"IF(startswith(__v, '{opening}'), {found}, NULL)")


def values(document: str) -> str:
    """The list of the elements of a list, or the values of an object, in order."""
    text = trimmed("array_join(slice(__ts, __a.s, __a.i - __a.s), '')")
    ends = "__a.s > 0 AND __a.d = 1 AND __t IN (',', '}', ']')"
    starts = f"({_NEXT} OR __a.d = 1 AND __t = ':')"
    state = {
        "s": f"IF({starts}, __a.i + 1, __a.s)",
        "l": f"IF({ends} AND {text} <> '', array_append(__a.l, {text}), __a.l)",
    }
    zero = {"s": "0", "l": "CAST(array() AS array<string>)"}
    return let("__ts", tokens(document), _pass(zero, state, "__a.l"))


def compact(document: str) -> str:
    """A document without the blanks between its parts."""
    parts = f"filter({tokens(document)}, __t -> {trimmed('__t')} <> '')"
    return f"array_join({parts}, '')"


def _first(document: str) -> str:
    """The document without what follows it."""
    ends = (
        "(__a.d = 1 AND __t IN ('}', ']') OR "
        f"__a.d = 0 AND NOT __t IN ('{{', '[') AND {trimmed('__t')} <> '')"
    )
    state = {"e": f"IF(__a.e = 0 AND {ends}, __a.i, __a.e)"}
    return _scanned(document, {"e": "0"}, state, "slice(__ts, 1, __a.e)")


def _scanned(
    document: str, zero: Mapping[str, str], state: Mapping[str, str], found: str
) -> str:
    """The text of a list of tokens that :func:`_pass` finds; its field ``e`` is 0 where
    there is none."""
    joined = f"array_join({found}, '')"
    # What only a closing bracket follows is no value of the document.
    value = f"nullif(nullif({trimmed(joined)}, ''), {_MARK})"
    last = f"IF(__a.e = 0, NULL, {value})"
    return let("__ts", tokens(document), _pass(zero, state, last))


def _pass(zero: Mapping[str, str], state: Mapping[str, str], last: str) -> str:
    """What one pass over the tokens ``__ts`` finds.

    Parameters
    ----------
    zero, state
        What is known at the start, and after each token ``__t``, as fields of ``__a``:
        beside it how deep the token is, ``d``, and its number from 1, ``i``.
    last
        What is made of what is known in the end.
    """
    depth = (
        "CASE WHEN __t IN ('{', '[') THEN __a.d + 1 "
        f"WHEN __t IN ('}}', ']') THEN IF(__a.d = 1, {_OVER}, __a.d - 1) ELSE __a.d END"
    )
    first = _struct({"d": "0", "i": "1", **zero})
    step = _struct({"d": depth, "i": "__a.i + 1", **state})
    return f"aggregate(__ts, {first}, (__a, __t) -> {step}, __a -> {last})"


def _struct(fields: Mapping[str, str]) -> str:
    pairs = (f"'{name}', {value}" for name, value in fields.items())
    return f"named_struct({', '.join(pairs)})"


def decoded(token: str) -> str:
    """The text that a token of a string stands for."""
    plain = f"substr({token}, 2, char_length({token}) - 2)"
    escaped = parsed(f"concat('[', {token}, ']')", "$[0]")
    return f"IF(contains({token}, '\\\\'), {escaped}, {plain})"


# What the text of a value, NULL where there is none, is as a value of a type.
AS_TEXT = (
    f"CASE WHEN startswith({{0}}, '\"') THEN {decoded('{0}')} "
    "WHEN {0} <> 'null' THEN {0} END"
)
AS_STRING = f"IF(startswith({{0}}, '\"'), {decoded('{0}')}, NULL)"
AS_INT = "IF({0} RLIKE '^-?[0-9]+$', TRY_CAST({0} AS BIGINT), NULL)"
AS_FLOAT = "IF({0} RLIKE '^-?[0-9]', TRY_CAST({0} AS DOUBLE), NULL)"
AS_BOOLEAN = "CASE {0} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"

COMPACT = compact("\0").replace("{", "{{").replace("}", "}}").replace("\0", "{0}")


def of(template: str) -> Callable[[str], str]:
    """What puts the text of a value, once computed, into one of these."""
    return lambda text: once(lambda texts: template.format(texts[0]), [text])
