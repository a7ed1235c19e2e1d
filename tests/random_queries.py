"""Random queries over changing tables, in the words that Arroyo and DuckDB share.

A relation is a text and the kinds of its columns. One letter is a kind: ``T`` text,
``I`` a whole number, ``D`` a DOUBLE whose sums are exact, ``B`` a truth value, ``S`` a
struct, ``L`` a list, ``C`` a DECIMAL, ``U`` an unsigned number, ``A`` a DATE, ``M`` a
TIMESTAMP, ``R`` a number that may be rounded, ``N`` the number of a rank, ``E`` an
element of some list. What is computed from an ``R`` may differ in its last digit: it is
no key of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script

PLAIN, KEYS, JOINED = "TIDBCUAM", "TIDBCUAMSL", "TIDCUAMS"

_STRUCT = "STRUCT<x BIGINT, y TEXT>"
TABLES = {
    "t": f"k TEXT, g BIGINT, v DOUBLE, b BOOLEAN, s {_STRUCT}, l BIGINT[], "
    "c DECIMAL(10, 2), n BIGINT UNSIGNED",
    "u": "k TEXT, g BIGINT, v DOUBLE, m TIMESTAMP",
    "d": "id BIGINT PRIMARY KEY, k TEXT, g BIGINT, v DOUBLE, b BOOLEAN, "
    "c DECIMAL(10, 2), m TIMESTAMP",
    "e": f"k TEXT PRIMARY KEY, g BIGINT PRIMARY KEY, v DOUBLE, s {_STRUCT}, "
    "n BIGINT UNSIGNED",
}
"""Two tables of rows that only come, and two that tell changes by primary key."""

KINDS = {
    "t": [*zip("kgvbslcn", "TIDBSLCU", strict=True)],
    "u": [*zip("kgvm", "TIDM", strict=True)],
    "d": [*zip(["id", *"kgvbcm"], "ITIDBCM", strict=True)],
    "e": [*zip("kgvsn", "TIDSU", strict=True)],
}
PRIMARY = {"d": ("id",), "e": ("k", "g")}

NO_KEY = "/* no key */"
"""Where a group without keys is: before its first row, and after its last, there is
none of it in a stream."""


def catalog() -> Catalog:
    """The tables."""
    script = "".join(
        f"CREATE TABLE {name} ({columns}) WITH (connector = 'single_file', "
        f"path = '/{name}', type = 'source', "
        f"format = '{'debezium_json' if name in PRIMARY else 'json'}');"
        for name, columns in TABLES.items()
    )
    return plan_script(script, Catalog()).catalog


def duckdb_text(query: str) -> str:
    """The same question to DuckDB."""
    text = query.replace(NO_KEY, "HAVING count(*) > 0")
    text = text.replace("first_value(", "first(").replace("last_value(", "last(")
    # As Spark has it.
    return text.replace("BIGINT UNSIGNED", "DECIMAL(20, 0)")


Columns = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Relation:
    """A query and its columns: names and kinds."""

    text: str
    columns: tuple[tuple[str, str], ...]

    def of(self, kinds: str) -> list[tuple[str, str]]:
        """Its columns of some kinds."""
        return [column for column in self.columns if column[1] in kinds]


class Grammar:
    """Draws relations; each column that is made has a name of its own."""

    def __init__(self, random: Random) -> None:
        self._one_of, self._int = random.choice, random.randint
        self._sample = random.sample
        self._names = (f"c{number}" for number in count())

    def relation(self, depth: int) -> Relation:
        """A table, or a query over others of less depth."""
        if depth == 0:
            table = self._one_of(list(TABLES))
            return Relation(f"SELECT * FROM {table}", tuple(KINDS[table]))
        return self._one_of(
            [
                *[self.grouped] * 4,
                *[self.joined] * 3,
                *[self.ranked] * 2,
                *(self.selected, self.united, self.distinct, self.unnested),
            ]
        )(depth - 1)

    def selected(self, depth: int) -> Relation:
        of = self.relation(depth)
        kinds = self._some(PLAIN, 1, 3)
        items = [(self.value(of.columns, kind), kind) for kind in kinds]
        items += self._some(of.columns, 0, 3)
        return self._select(items, of, where=self._maybe(self.test, of.columns))

    def unnested(self, depth: int) -> Relation:
        of = self.relation(depth)
        if not of.of("L"):
            how = self._one_of(["SELECT", "SELECT DISTINCT"])
            of = Relation(
                f"{how} k, g, l FROM t", tuple(zip("kgl", "TIL", strict=True))
            )
        name, _ = self._one_of(of.of("L"))
        call = f"unnest({name})"
        # Of a list that an aggregate has made, elements may be of any type.
        element = (call, "E")
        if name == "l":
            texts = [call, f"({call} + 1)", f"coalesce({call}, 7)"]
            element = (self._one_of(texts), "I")
        items = [element, *self._some(of.columns, 0, 3)]
        return self._select(items, of, where=self._maybe(self.test, of.columns))

    def distinct(self, depth: int) -> Relation:
        of = self.relation(depth)
        items = self._some(of.of(KEYS), 1, 3) or [("count(*)", "I")]
        where = self._maybe(self.test, of.columns)
        if items == [("count(*)", "I")]:
            return self._select(items, of, where=where, rest=f" {NO_KEY}")
        return self._select(items, of, where=where, how="SELECT DISTINCT")

    def united(self, depth: int) -> Relation:
        one, other = self.relation(depth), self.relation(depth)
        kinds = self._some(PLAIN, 1, 3)
        left, right = (
            self._select([(self.value(of.columns, k), k) for k in kinds], of)
            for of in (one, other)
        )
        union = self._one_of(["UNION ALL", "UNION"])
        return Relation(f"{left.text} {union} {right.text}", left.columns)

    def grouped(self, depth: int) -> Relation:
        of = self.relation(depth)
        keys = self._some(of.of(KEYS), 0, 3)
        keys = [(self._key(of.columns, *key), key[1]) for key in keys]
        keys = list(dict.fromkeys(keys))
        measures = [self.measure(of) for _ in range(self._int(0 if keys else 1, 3))]
        by = [text for text, _ in keys]
        rest = f" GROUP BY {', '.join(by)}" if by else f" {NO_KEY}"
        numbers = [text for text, kind in measures if kind == "I"]
        if by and numbers and self._int(0, 3) == 0:
            rest += f" HAVING {self._one_of(numbers)} {self._compared()} 1"
        where = self._maybe(self.test, of.columns)
        return self._select([*keys, *measures], of, where=where, rest=rest)

    def joined(self, depth: int) -> Relation:
        left = self.relation(depth)
        right = self._one_of([self.relation, self.relation, lambda _: left])(depth)
        sides = [
            self._columns(side, name) for side, name in ((left, "a"), (right, "b"))
        ]
        pairs = [
            (a, b)
            for a, kind in sides[0]
            for b, other in sides[1]
            if kind == other and kind in JOINED
        ]
        if not pairs:
            return left
        on = [f"{a} = {b}" for a, b in self._some(pairs, 1, self._one_of((1, 1, 2)))]
        on += [self._of_pair(*sides) for _ in range(self._int(0, 1))]
        how = self._one_of(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        both = [*sides[0], *sides[1]]
        items = self._some(both, 1, 5)
        where = self._maybe(self.test, both)
        return self._select(
            items,
            left,
            where=where,
            joins=f" AS a {how} ({right.text}) AS b ON {' AND '.join(on)}",
        )

    def ranked(self, depth: int) -> Relation:
        of = self.relation(depth)
        plain = self._some(of.of(PLAIN), 1, 4)
        if not plain:
            return of
        inner = self._select(plain, of)
        names = [name for name, _ in inner.columns]
        keys = self._some(names, 0, 2)
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        order = self._some(names, 1, 2)
        # Equal rows are numbered by all their columns.
        ties = [f"{n} NULLS LAST" for n in names if n not in order]
        order = [f"{n} {self._one_of(_DIRECTIONS)}" for n in order]
        numbers = []
        for function in self._some(["row_number", "rank", "dense_rank"], 1, 2):
            given = [*order, *ties] if function == "row_number" else order
            over = f"{function}() OVER ({by}ORDER BY {', '.join(given)})"
            numbers.append((over, "N"))
        ranks = self._select([*inner.columns, *numbers], inner)
        items = self._some(ranks.columns, 1, 5)
        number = self._one_of(ranks.of("N"))[0]
        limits = [f"{number} <= {n}" for n in (1, 2, 3)]
        limits += [f"{number} = 2", f"2 > {number}", f"{number} BETWEEN 1 AND 2"]
        where = self._one_of([*limits, None])
        if where and self._int(0, 3) == 0:
            where += f" AND {self.test(ranks.of(PLAIN))}"
        items = [self._read_number(item) for item in items]
        return self._select(items, ranks, where=where)

    def measure(self, of: Relation) -> tuple[str, str]:
        """An aggregate over a relation."""
        kind = self._one_of(sorted({kind for _, kind in of.columns}))
        name, _ = self._one_of(of.of(kind))
        argument = name
        if kind in PLAIN and self._int(0, 4) == 0:
            argument = self.value(of.columns, kind)
        template, result = self._one_of([*_COUNTS, *_MEASURES.get(kind, [])])
        order = self._one_of(_DIRECTIONS)
        beside = self.value(of.columns, "D", 0)
        text = template.format(argument, beside, order=order)
        if self._int(0, 3) == 0:
            text += f" FILTER (WHERE {self.test(of.columns)})"
        return text, kind if result == "=" else result

    def value(self, columns: Columns, kind: str, depth: int = 1) -> str:
        """An expression of one of the kinds :data:`PLAIN`."""
        leaves = [name for name, other in columns if other == kind]
        if depth == 0 or (leaves and self._int(0, 2) == 0):
            return self._one_of([*leaves, *_LITERALS[kind]])
        part: Callable[[], str] = lambda: self.value(columns, kind, depth - 1)  # noqa: E731
        choices = [
            lambda: f"coalesce({part()}, {self._one_of(_LITERALS[kind])})",
            lambda: f"CASE WHEN {self.test(columns)} THEN {part()} ELSE {part()} END",
            *(lambda t=t: t.format(part(), part()) for t in _OPERATORS[kind]),
        ]
        return self._one_of(choices)()

    def test(self, columns: Columns) -> str:
        """A predicate."""
        kind = self._one_of(sorted({k for _, k in columns if k in PLAIN}) or ["I"])
        one, other = (self.value(columns, kind, 0) for _ in range(2))
        tests = [
            f"{one} {self._compared()} {other}",
            f"{one} IS NOT NULL",
            f"{one} IS NULL OR {one} <> {other}",
            f"NOT ({one} = {other})",
            f"{one} IS DISTINCT FROM {other}",
            f"{one} IN ({', '.join(_LITERALS[kind])})",
            f"{one} BETWEEN {other} AND {self._one_of(_LITERALS[kind])}",
        ]
        return f"({self._one_of(tests)})"

    def _select(
        self,
        items: Columns,
        of: Relation,
        *,
        how: str = "SELECT",
        where: str | None = None,
        joins: str = " AS q",
        rest: str = "",
    ) -> Relation:
        columns = tuple((next(self._names), kind) for _, kind in items)
        given = (
            f"{text} AS {n}" for (text, _), (n, _) in zip(items, columns, strict=True)
        )
        kept = f" WHERE {where}" if where else ""
        text = f"{how} {', '.join(given)} FROM ({of.text}){joins}{kept}{rest}"
        return Relation(text, columns)

    def _of_pair(self, left: Columns, right: Columns) -> str:
        """What must hold of both sides, or of one."""
        alike = [(a, b) for a, k in left for b, other in right if k == other in PLAIN]
        if not alike or self._int(0, 3) == 0:
            return self.test(self._one_of([left, right]))
        a, b = self._one_of(alike)
        c, d = self._one_of(alike)
        tests = [
            f"{a} {self._compared()} {b}",
            f"({a} < {b} OR {c} IS NULL)",
            f"NOT ({a} = {b} AND {c} <> {d})",
            f"({a} IS DISTINCT FROM {b} OR {d} >= {c})",
        ]
        return self._one_of(tests)

    def _key(self, columns: Columns, name: str, kind: str) -> str:
        if kind not in PLAIN or self._int(0, 3):
            return name
        texts = [
            f"coalesce({name}, {_LITERALS[kind][0]})",
            f"CASE WHEN {self.test(columns)} THEN {name} END",
            *(t.format(name, _LITERALS[kind][0]) for t in _OPERATORS[kind]),
        ]
        return self._one_of(texts)

    def _read_number(self, item: tuple[str, str]) -> tuple[str, str]:
        name, kind = item
        if kind == "N" and self._int(0, 1):
            return f"CAST({name} AS BIGINT)", "I"
        return item

    def _columns(self, of: Relation, alias: str) -> list[tuple[str, str]]:
        return [(f"{alias}.{name}", kind) for name, kind in of.columns]

    def _compared(self) -> str:
        return self._one_of(["=", "<>", "<", "<=", ">", ">="])

    def _maybe(self, make: Callable[..., str], *arguments: Any) -> str | None:
        return make(*arguments) if self._int(0, 5) == 0 else None

    def _some(self, items: Sequence[Any], least: int, most: int) -> list[Any]:
        """So many of the items, each once; fewer where there are not as many."""
        return self._sample(items, min(len(items), self._int(least, most)))


_DIRECTIONS = [
    f"{direction} NULLS {place}"
    for direction in ("ASC", "DESC")
    for place in ("LAST", "FIRST")
]
_LITERALS = {
    "T": ["'a'", "'x'", "''"],
    "I": ["1", "2", "-1"],
    "D": ["CAST(0.5 AS DOUBLE)", "CAST(-2.0 AS DOUBLE)"],
    "B": ["TRUE", "FALSE"],
    "C": ["CAST(1.25 AS DECIMAL(10, 2))", "CAST(-0.5 AS DECIMAL(10, 2))"],
    "U": ["CAST(1 AS BIGINT UNSIGNED)", "CAST(2 AS BIGINT UNSIGNED)"],
    "A": ["CAST('2024-02-29' AS DATE)", "CAST('1969-12-31' AS DATE)"],
    "M": ["CAST('2024-02-29T12:00:00' AS TIMESTAMP)"],
}
_OPERATORS = {
    "T": ["({} || {})"],
    "I": ["({} + {})", "({} - {})", "({} * 2)"],
    "D": ["({} + {})", "({} - {})", "({} * 2.0)", "(- {})"],
    "B": ["({} AND {})", "({} OR {})", "(NOT {})"],
    "C": ["({} + {})", "({} - {})", "(- {})"],
    "U": ["({} + {})"],
    "A": [],
    "M": ["date_trunc('day', {})"],
}
_COUNTS = [("count(*)", "I"), ("count({})", "I"), ("count(DISTINCT {})", "I")]
_EXTREMES = [("min({})", "="), ("max({})", "=")]
_ENDS = [
    (f"{place}_value({{0}} ORDER BY {{0}} {{order}})", "=")
    for place in ("first", "last")
]
# Left out is what DuckDB says otherwise: NaN where a side is constant, and no spread of
# one NaN alone.
_PAIRS = [
    *((f"covar_{name}({{0}}, {{1}})", "R") for name in ("pop", "samp")),
    *((f"regr_{name}({{1}}, {{0}})", "R") for name in ("avgx", "avgy", "count")),
    ("regr_sxy({0}, {1})", "R"),
]
_LISTS = [
    ("array_agg({0} ORDER BY {0} {order})", "L"),
    ("array_agg(DISTINCT {0} ORDER BY {0} {order})", "L"),
]
_MEASURES = {
    "T": [
        *_EXTREMES,
        *_ENDS,
        *_LISTS,
        ("string_agg({0}, ',' ORDER BY {0} {order})", "T"),
        ("string_agg(DISTINCT {0}, ',' ORDER BY {0} {order})", "T"),
    ],
    "I": [
        *_EXTREMES,
        *_ENDS,
        *_PAIRS,
        *_LISTS,
        ("sum({})", "I"),
        ("sum(DISTINCT {})", "I"),
        ("avg({})", "R"),
        *((f"bit_{name}({{}})", "I") for name in ("and", "or", "xor")),
        *((f"{name}({{}})", "R") for name in ("stddev", "stddev_pop", "var_pop")),
        ("var_samp({})", "R"),
    ],
    "D": [
        *_EXTREMES,
        *_ENDS,
        *_PAIRS,
        *_LISTS,
        ("sum({})", "D"),
        ("sum(DISTINCT {})", "D"),
        ("avg({})", "R"),
        ("median({})", "D"),
    ],
    "B": [("bool_and({})", "B"), ("bool_or({})", "B")],
    # Means of decimals are cut off, those of DuckDB are no decimals.
    "C": [*_EXTREMES, *_ENDS, ("sum({})", "R"), ("sum(DISTINCT {})", "R")],
    "U": [*_EXTREMES, ("sum({})", "R"), ("sum(DISTINCT {})", "R"), ("avg({})", "R")],
    "A": [*_EXTREMES, *_ENDS],
    "M": [*_EXTREMES, *_ENDS],
    "R": _EXTREMES,
    "N": [*_EXTREMES, ("sum({})", "R")],
}


def query(random: Random) -> str:
    """A query, up to three operators deep."""
    return Grammar(random).relation(random.choice((1, 2, 2, 3, 3))).text
