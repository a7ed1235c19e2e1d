"""Types: what a value of each is."""

from __future__ import annotations

from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord

_INTERNAL = "In queries and memory tables: no connector reads or writes it."
_TYPES = {
    "BOOLEAN": ("true or false.",),
    "INT": ("A whole number of 32 bits; INT UNSIGNED is never negative.",),
    "BIGINT": ("A whole number of 64 bits; BIGINT UNSIGNED is never negative.",),
    "TINYINT": ("A whole number of 8 bits.", _INTERNAL),
    "SMALLINT": ("A whole number of 16 bits.", _INTERNAL),
    "FLOAT": ("A floating-point number of 32 bits.",),
    "DOUBLE": ("A floating-point number of 64 bits.",),
    "DECIMAL": ("An exact number: DECIMAL(digits, digits of its fraction), up to 38.",),
    "TEXT": ("A text in UTF-8; a length has no effect.",),
    "BYTEA": ("Bytes.",),
    "TIMESTAMP": (
        "A time in UTC without a zone, kept in microseconds.",
        "TIMESTAMP(0), (3), (6) or (9) say how a number in a record is read: in "
        "seconds, milliseconds, microseconds or nanoseconds.",
    ),
    "JSON": ("A JSON document as text; ->, ->> and ? look into it.",),
    "STRUCT": ("Named fields: STRUCT<name TEXT, age INT>; value.name reads one.",),
    "ARRAY": ("A list; its elements may be NULL.",),
    "DATE": ("A day.", _INTERNAL),
    "TIME": ("A time of day, in microseconds.", _INTERNAL),
    "INTERVAL": ("A length of time: INTERVAL '5 minutes'.", _INTERNAL),
}
_SAME = {
    "BOOL": "BOOLEAN",
    "INTEGER": "INT",
    "INT4": "INT",
    "INT8": "BIGINT",
    "INT2": "SMALLINT",
    "REAL": "FLOAT",
    "FLOAT4": "FLOAT",
    "FLOAT8": "DOUBLE",
    "NUMERIC": "DECIMAL",
    "VARCHAR": "TEXT",
    "CHAR": "TEXT",
    "CHARACTER": "TEXT",
    "STRING": "TEXT",
    "DATETIME": "TIMESTAMP",
}
TYPE_WORDS = frozenset((*_TYPES, *_SAME))
"""All names of types, in upper case."""


def explain_type(word: PointedWord) -> Explanation | None:
    """The type that a word names."""
    return type_named(word.token.word)


def type_named(name: str) -> Explanation | None:
    """A type by its name in upper case."""
    same = _SAME.get(name, name)
    if same not in _TYPES:
        return None
    title = same if same == name else f"{name}: {same}"
    return Explanation(title, _TYPES[same])
