"""A table of groups of rows: all types, with NULLs, extremes and equal values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    TEXT,
    ListOf,
    Timestamp,
    Type,
)
from oracle.values import MONEY, PAIR, WIDE, value_of

COLUMNS: dict[str, Type] = {
    "k": INT,
    "n": BIGINT,
    "i": BIGINT,
    "j": INT,
    "q": INT,
    "u": BIGINT_UNSIGNED,
    "v": INT_UNSIGNED,
    "f": FLOAT,
    "d": DOUBLE,
    "m": MONEY,
    "x": WIDE,
    "s": TEXT,
    "z": TEXT,
    "b": BOOLEAN,
    "y": BYTEA,
    "t": Timestamp(),
    "t3": Timestamp(3),
    "li": ListOf(BIGINT),
    "ls": ListOf(TEXT),
    "st": PAIR,
}
"""``k`` is the group, ``n`` the number of the row, ``q`` a number of few digits,
``z`` the text of a number."""

ARGUMENTS: dict[str, str] = {
    **{name: str(type_) for name, type_ in COLUMNS.items() if name not in "kn"},
    "z": "TEXT of a number",
    "CAST(q AS TINYINT)": "TINYINT",
    "CAST(q AS SMALLINT)": "SMALLINT",
    "CAST(t AS DATE)": "DATE",
    "NULL": "NULL",
}
"""What is aggregated, and its type in words."""

_SIZES = {1: 8, 2: 3, 3: 2, 4: 1, 5: 5}
"""How many rows a group has. The rows of the third are all NULL, those of the fifth
have two different values."""


@dataclass(frozen=True)
class Rows:
    """The rows, each with a value of Python for each column."""

    rows: tuple[dict[str, Any], ...]

    @classmethod
    def at_random(cls, seed: str, *, zeros: bool = True) -> Rows:
        """Other rows for each seed.

        Parameters
        ----------
        zeros
            Whether -0.0 is among them.
        """
        random = Random(seed)

        def row(group: int) -> dict[str, Any]:
            return {
                name: _value(name, type_, random, group)
                for name, type_ in COLUMNS.items()
            }

        made = []
        for group, size in _SIZES.items():
            # Of the last group there are two rows, again and again.
            pool = [row(group) for _ in range(2 if group == 5 else size)]
            made += [dict(pool[place % len(pool)]) for place in range(size)]
        random.shuffle(made)
        for number, one in enumerate(made):
            one["n"] = number
            for name in ("f", "d"):
                if not zeros and one[name] == 0:
                    one[name] = 0.0
        return cls(tuple(made))

    def table(self, type_of: Callable[[Type], pa.DataType]) -> pa.Table:
        """The rows in Arrow, each type as ``type_of`` has it."""
        schema = pa.schema([(name, type_of(t)) for name, t in COLUMNS.items()])
        return pa.Table.from_pylist([*self.rows], schema)


def _value(name: str, type_: Type, random: Random, group: int) -> object:
    if name == "k":
        return group
    if group == 3 or (group != 2 and random.random() < 0.2):
        return None
    if name == "q":
        return random.choice((-128, -5, 0, 1, 2, 2, 7, 127))
    if name == "z":
        return random.choice(("12", "-7", "1.5", "0", "2", "1e3", "127"))
    return value_of(type_, random)
