"""Random scripts over windows, in the words that Arroyo and DuckDB share.

A script is a few views, each over those before it: aggregates by window, aggregates of
them, joins within a window of all kinds, OVER with frames and top N with ties, unnested
lists, unions; memory tables take the place of some views. Where the dialects differ
there is a marker, which either turns into its own words: DuckDB reads rows that have
their window already, and is told what a windowed join means. Kinds of columns are those
of :mod:`random_queries`; ``P`` and ``Q`` are lists of texts and of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

SECOND = 1_000_000
WINDOWS = {
    "tumble": ("tumble(INTERVAL '10 seconds')", 10 * SECOND, 10 * SECOND),
    "hop": (
        "hop(INTERVAL '4 seconds', INTERVAL '12 seconds')",
        4 * SECOND,
        12 * SECOND,
    ),
    "session": ("session(INTERVAL '3 seconds')", 3 * SECOND, 0),
}
"""The call, the slide or the gap, and the width, in microseconds."""

COLUMNS = "k TEXT, v BIGINT, g DOUBLE, l BIGINT[]"
TABLES = ("t", "u")
PLAIN = "TID"

_DIFFERENT = re.compile(r"\{\{(.*?)\|\|(.*?)\}\}")


def _words(ours: str, theirs: str) -> str:
    """A marker."""
    return f"{{{{{ours}||{theirs}}}}}"


def _tile(buckets: int, by: str, over: str) -> str:
    """A row's bucket goes by its share of the rows before it; in DuckDB the first
    buckets are the longer ones."""
    size, before = f"count(*) OVER (PARTITION BY {by})", f"(row_number() {over} - 1)"
    return _words(
        f"ntile({buckets}) {over}",
        f"{before} * least({buckets}, {size}) // {size} + 1",
    )


@dataclass(frozen=True)
class Relation:
    """A view.

    Parameters
    ----------
    name
        Its name.
    columns
        Names and kinds, without the window.
    window
        Its window column for DuckDB, where an outer join has two of which either may be
        NULL: then Arroyo knows the window of a row only by calling it again.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    window: tuple[str, ...] = ("w",)

    def of(self, kinds: str) -> list[tuple[str, str]]:
        """Its columns of some kinds."""
        return [column for column in self.columns if column[1] in kinds]

    def window_of(self, alias: str) -> str:
        """Its window as DuckDB says it, where the relation has that name."""
        names = ", ".join(f"{alias}.{name}" for name in self.window)
        return names if len(self.window) == 1 else f"coalesce({names})"


@dataclass
class Script:
    """Statements for both, and a query at their end."""

    kind: str
    statements: list[str] = field(default_factory=list)
    query: str = ""

    def arroyo(self) -> str:
        """What Arroyo is asked."""
        return _DIFFERENT.sub(r"\1", ";\n".join([*self.statements, self.query]))

    def duckdb(self) -> list[str]:
        """What DuckDB is asked, statement by statement."""
        texts = [*self.statements, self.query]
        return [_DIFFERENT.sub(r"\2", text) for text in texts]


class Scripts:
    """Draws scripts over one kind of window.

    Parameters
    ----------
    prefix
        What the names of all its views begin with.
    """

    def __init__(self, random: Random, kind: str, prefix: str = "v") -> None:
        self._random, self._one_of, self._int = random, random.choice, random.randint
        # Views of memory tables are refused: from the first on all are memory tables.
        self._views_first = self._one_of((0, 1, 2, 99, 99))
        self._script = Script(kind)
        self._views = (f"{prefix}{number}" for number in count())
        self._names = (f"c{number}" for number in count())
        self._call = WINDOWS[kind][0]
        self._joins = kind != "session"

    def script(self) -> Script:
        """One of them, of one to five operators."""
        made = [self._grouped_rows()]
        if self._int(0, 1):
            made.append(self._grouped_rows())
        for _ in range(self._one_of((1, 2, 2, 3))):
            steps = [self._regrouped, self._numbered, self._numbered, self._selected]
            steps += [self._unnested, self._united]
            steps += [self._joined] * 4 if self._joins else []
            made.append(self._one_of(steps)(self._one_of(made[-2:]), made))
        last = made[-1]
        names = [*last.window, *(name for name, _ in last.columns)]
        self._script.query = f"SELECT {', '.join(names)} FROM {last.name}"
        return self._script

    def _grouped_rows(self) -> Relation:
        """Rows of a table by window."""
        table, kind = self._one_of(TABLES), self._script.kind
        # DuckDB's sessions are made beforehand, of the rows of each k.
        keys = self._some(["k", "v", "g", "l"], 0, 2) if kind != "session" else ["k"]
        kinds = {"k": "T", "v": "I", "g": "D", "l": "L"}
        columns = tuple(kinds.items())
        items = [(key, kinds[key]) for key in keys]
        items += [self._measure(columns) for _ in range(self._int(0 if keys else 1, 3))]
        by = ", ".join(["1", *(str(n + 2) for n in range(len(keys)))])
        window = f"{_words(self._call, 'w')} AS w"
        # Nor are those of fewer rows made.
        filtered = kind != "session" and self._int(0, 5) == 0
        where = f" WHERE {self._test(columns)}" if filtered else ""
        rows = _words(table, f"{table}_{kind}")
        return self._view(window, items, rows, f"{where} GROUP BY {by}")

    def _regrouped(self, of: Relation, _: Sequence[Relation]) -> Relation:
        """By the window and other columns once more."""
        keys = self._some(of.of(PLAIN), 0, 2)
        items = [*keys, *(self._measure(of.columns) for _ in range(self._int(1, 3)))]
        by = ", ".join(["1", *(str(n + 2) for n in range(len(keys)))])
        # Called again the window is the same one; of sessions only the column says it.
        called = len(of.window) > 1 or (self._joins and self._int(0, 2) == 0)
        window = _words(self._call, of.window_of("q")) if called else "w"
        return self._view(f"{window} AS w", items, f"{of.name} AS q", f" GROUP BY {by}")

    def _selected(self, of: Relation, _: Sequence[Relation]) -> Relation:
        items = [self._value(of.columns) for _ in range(self._int(1, 2))]
        items += self._some(of.columns, 0, 3)
        tests = [self._test(of.columns) for _ in range(self._int(0, 2))]
        edge = self._one_of(["start", '"end"'])
        moment = f"TIMESTAMP '1970-01-01 00:0{self._int(1, 2)}:{self._int(10, 59)}'"
        tests.append(f"(q.w.{edge} {self._compared()} {moment} OR q.w IS NULL)")
        where = " AND ".join(self._some(tests, 0, 2))
        window = ", ".join(f"q.{name} AS {name}" for name in of.window)
        rest = f" WHERE {where}" if where else ""
        return self._view(window, items, f"{of.name} AS q", rest, of.window)

    def _unnested(self, of: Relation, made: Sequence[Relation]) -> Relation:
        if not of.of("L"):
            return self._selected(of, made)
        call = f"unnest({self._one_of(of.of('L'))[0]})"
        element = self._one_of([call, f"({call} + 1)", f"coalesce({call}, 7)"])
        items = [(element, "I"), *self._some(of.columns, 0, 3)]
        window = ", ".join(f"q.{name} AS {name}" for name in of.window)
        return self._view(window, items, f"{of.name} AS q", "", of.window)

    def _united(self, of: Relation, made: Sequence[Relation]) -> Relation:
        others = [r for r in made if len(r.window) == 1]
        if len(of.window) > 1 or not others:
            return self._regrouped(of, made)
        other = self._one_of(others)
        kinds = [kind for _, kind in self._some(of.of(PLAIN), 1, 3)] or ["I"]
        sides = []
        names = [next(self._names) for _ in kinds]
        for side in (of, other):
            values = (self._value(side.columns, kind)[0] for kind in kinds)
            named = (f"{v} AS {n}" for v, n in zip(values, names, strict=True))
            sides.append(f"SELECT {', '.join(['w', *named])} FROM {side.name}")
        view = next(self._views)
        self._script.statements.append(
            f"CREATE VIEW {view} AS {' UNION ALL '.join(sides)}"
        )
        return Relation(view, tuple(zip(names, kinds, strict=True)))

    def _joined(self, of: Relation, made: Sequence[Relation]) -> Relation:
        """Within a window: Arroyo need not be told so, DuckDB is."""
        other = self._one_of(made)
        a, b = (
            [(f"{alias}.{name}", kind) for name, kind in side.columns]
            for alias, side in (("a", of), ("b", other))
        )
        pairs = [(x, y) for x, k in a for y, j in b if k == j and k in PLAIN]
        how = self._one_of(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = [f"{x} = {y}" for x, y in self._some(pairs, 0, 2)]
        if pairs and self._int(0, 2) == 0:
            x, y = self._one_of(pairs)
            on.append(self._one_of([f"{x} < {y}", f"({x} <> {y} OR {y} IS NULL)"]))
        if self._int(0, 4) == 0:
            on.append(self._test(self._one_of([a, b]) or a))
        same = f"{of.window_of('a')} = {other.window_of('b')}"
        plain = len(of.window) == len(other.window) == 1
        said = "a.w = b.w" if plain and self._int(0, 1) else "TRUE"
        on.append(_words(said, same))
        self._random.shuffle(on)
        sides = {"JOIN": "a", "LEFT JOIN": "a", "RIGHT JOIN": "b"}
        items, window = self._some([*a, *b], 1, 4), ("w",)
        if how in sides and len((of if sides[how] == "a" else other).window) == 1:
            chosen = f"{sides[how]}.w AS w"
        else:
            columns = [
                f"{alias}.{name}"
                for alias, side in (("a", of), ("b", other))
                for name in side.window
            ]
            window = ("w", *(next(self._names) for _ in columns[1:]))
            named = zip(columns, window, strict=True)
            chosen = ", ".join(f"{column} AS {name}" for column, name in named)
        rows = f"{of.name} AS a {how} {other.name} AS b ON {' AND '.join(on)}"
        return self._view(chosen, items, rows, "", window)

    def _numbered(self, of: Relation, made: Sequence[Relation]) -> Relation:
        """OVER the rows of a window; of some, those with the least numbers."""
        plain = self._some(of.of(PLAIN), 1, 4)
        if len(of.window) > 1 or not plain:
            return self._regrouped(of, made)
        names = [name for name, _ in plain]
        # Which of two equal rows comes first is no matter, but another order of another
        # function may put the other one first.
        distinct, inner = (
            self._int(0, 1),
            f"SELECT w, {', '.join(names)} FROM {of.name}",
        )
        if distinct:
            inner += f" GROUP BY w, {', '.join(names)}"
        inner = f"({inner}) AS q"
        keys = self._some(names, 0, 1)
        items, shared = [], self._order(names)
        for _ in range(self._int(1, 3)):
            order = self._one_of([shared, self._order(names)]) if distinct else shared
            items.append(self._over(plain, ["w", *keys], order))
        view = self._view("w AS w", [*plain, *items], inner, "")
        numbers = [n for n, kind in view.columns[len(plain) :] if kind == "I"]
        if not numbers or self._int(0, 1):
            return view
        bound = self._one_of([f"<= {self._int(1, 3)}", "= 1", "< 3", "BETWEEN 1 AND 2"])
        where = f" WHERE {self._one_of(numbers)} {bound}"
        return self._view("w AS w", view.columns, view.name, where)

    def _over(
        self, plain: Sequence[tuple[str, str]], keys: Sequence[str], order: list[str]
    ) -> tuple[str, str]:
        by, whole = ", ".join(keys), ", ".join(order)
        shorter = ", ".join(order[: self._int(1, len(order))])
        name, kind = self._one_of(plain)
        number = next((n for n, k in plain if k == "I"), None)
        frame = self._frame()
        peers = [
            (f"{f}() OVER (PARTITION BY {by} ORDER BY {shorter})", "I")
            for f in ("rank", "dense_rank")
        ]
        peers += [
            (f"{f}() OVER (PARTITION BY {by} ORDER BY {shorter})", "R")
            for f in ("percent_rank", "cume_dist")
        ]
        over = f"OVER (PARTITION BY {by} ORDER BY {whole})"
        tile = _tile(self._int(1, 4), by, over)
        total = [(f"row_number() {over}", "I"), (tile, "I")]
        total += [
            (f"{f}({name}, {self._int(0, 2)}) {over}", kind) for f in ("lag", "lead")
        ]
        ends = ["first_value({})", "last_value({})", "nth_value({}, 2)"]
        framed = [
            (
                f"{f.format(name)} OVER (PARTITION BY {by} ORDER BY {whole} {frame})",
                kind,
            )
            for f in ends
        ]
        sums = ["count(*)", f"count({name})"]
        sums += [f"sum({number})", f"max({number})", f"min({number})"] if number else []
        call = self._one_of(sums)
        ordered = whole if frame.startswith("ROWS") else shorter
        sums_over = (
            f"{call} OVER (PARTITION BY {by} ORDER BY {ordered} {frame})",
            "I",
        )
        text, kind = self._one_of([*peers, *total, *framed, sums_over, sums_over])
        return (f"CAST({text} AS BIGINT)", kind) if kind == "I" else (text, kind)

    def _frame(self) -> str:
        unit = self._one_of(["ROWS", "GROUPS", "ROWS", "RANGE"])
        if unit == "RANGE":
            starts, ends = ["UNBOUNDED PRECEDING", "CURRENT ROW"], ["CURRENT ROW"]
            ends.append("UNBOUNDED FOLLOWING")
            start, end = self._one_of(starts), self._one_of(ends)
        else:
            edges = ["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW"]
            edges += ["1 FOLLOWING", "2 FOLLOWING", "UNBOUNDED FOLLOWING"]
            first = self._int(0, 5)
            start, end = edges[first], edges[self._int(max(first, 1), 6)]
        out = self._one_of(["", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP"])
        out = self._one_of([out, " EXCLUDE TIES"]) if unit == "GROUPS" else out
        return f"{unit} BETWEEN {start} AND {end}{out}"

    def _order(self, names: Sequence[str]) -> list[str]:
        """Of all columns, so that rows of one place are equal."""
        some = self._random.sample(names, len(names))
        nulls = ("NULLS FIRST", "NULLS LAST")
        words = (self._one_of(["ASC", "DESC"]) for _ in some)
        return [
            f"{n} {word} {self._one_of(nulls)}"
            for n, word in zip(some, words, strict=True)
        ]

    def _measure(self, columns: Sequence[tuple[str, str]]) -> tuple[str, str]:
        name, kind = self._one_of(columns)
        text, result = self._one_of(_MEASURES.get(kind, _COUNTS))
        text = text.format(name)
        if self._int(0, 3) == 0:
            text += f" FILTER (WHERE {self._test(columns)})"
        # DuckDB's sums are wider.
        return (f"CAST({text} AS BIGINT)", "I") if result == "I" else (text, result)

    def _value(
        self, columns: Sequence[tuple[str, str]], kind: str | None = None
    ) -> tuple[str, str]:
        kind = kind or self._one_of(PLAIN)
        leaves = [name for name, other in columns if other == kind]
        leaf = self._one_of([*leaves, *leaves, *_LITERALS[kind]])
        texts = [
            leaf,
            f"coalesce({leaf}, {_LITERALS[kind][0]})",
            _EACH[kind].format(leaf),
        ]
        texts.append(f"CASE WHEN {self._test(columns)} THEN {leaf} END")
        return self._one_of(texts), kind

    def _test(self, columns: Sequence[tuple[str, str]]) -> str:
        known = [column for column in columns if column[1] in PLAIN]
        if not known:
            return "TRUE"
        name, kind = self._one_of(known)
        literal = self._one_of(_LITERALS[kind])
        tests = [f"{name} {self._compared()} {literal}", f"{name} IS NOT NULL"]
        tests.append(f"({name} IS NULL OR {name} <> {literal})")
        return self._one_of(tests)

    def _view(
        self,
        window: str,
        items: Sequence[tuple[str, str]],
        rows: str,
        rest: str,
        windows: Sequence[str] = ("w",),
    ) -> Relation:
        columns = tuple((next(self._names), kind) for _, kind in items)
        named = (
            f"{text} AS {name}"
            for (text, _), (name, _) in zip(items, columns, strict=True)
        )
        select = f"SELECT {', '.join([window, *named])} FROM {rows}{rest}"
        return self._defined(columns, windows, select)

    def _defined(
        self, columns: tuple[tuple[str, str], ...], windows: Sequence[str], query: str
    ) -> Relation:
        """A view, or a memory table, which an INSERT fills by position."""
        name = next(self._views)
        made = f"CREATE VIEW {name} AS"
        if len(self._script.statements) >= self._views_first:
            types = [f"{window} {_WINDOW_TYPE}" for window in windows]
            types += [f"{column} {_TYPES[kind]}" for column, kind in columns]
            table = f"CREATE TABLE {name} ({', '.join(types)}); INSERT INTO {name}"
            made = _words(table, made)
        self._script.statements.append(f"{made} {query}")
        return Relation(name, columns, tuple(windows))

    def _compared(self) -> str:
        return self._one_of(["=", "<>", "<", "<=", ">", ">="])

    def _some(self, items: Sequence, least: int, most: int) -> list:
        return self._random.sample(items, min(len(items), self._int(least, most)))


_LITERALS = {"T": ["'a'", "'b'"], "I": ["1", "2", "0"], "D": ["0.5", "-1.5"]}
_LITERALS["D"] = [f"CAST({text} AS DOUBLE)" for text in _LITERALS["D"]]
_TYPES = {"T": "TEXT", "I": "BIGINT", "D": "DOUBLE", "R": "DOUBLE"}
_TYPES |= {"L": "BIGINT[]", "P": "TEXT[]", "Q": "DOUBLE[]"}
_WINDOW_TYPE = 'STRUCT<start TIMESTAMP, "end" TIMESTAMP>'
_EACH = {"T": "({} || 'x')", "I": "({} + 1)", "D": "({} * 2.0)"}
_COUNTS = [("count(*)", "I"), ("count({})", "I")]
_ANY = [*_COUNTS, ("count(DISTINCT {})", "I")]
_LIST = "array_agg({0} ORDER BY {0} DESC NULLS LAST)"
_MEASURES = {
    "T": [
        *_ANY,
        (_LIST, "P"),
        ("min({})", "T"),
        ("max({})", "T"),
        ("string_agg({0}, ',' ORDER BY {0})", "T"),
    ],
    "I": [
        *_ANY,
        ("sum({})", "I"),
        ("sum(DISTINCT {})", "I"),
        ("min({})", "I"),
        ("max({})", "I"),
        ("array_agg(DISTINCT {0} ORDER BY {0} ASC NULLS LAST)", "L"),
        ("array_agg({0} ORDER BY {0} ASC NULLS FIRST)", "L"),
        ("bit_xor({})", "I"),
        ("stddev({})", "R"),
        ("var_pop({})", "R"),
    ],
    "D": [*_ANY, (_LIST, "Q"), ("sum({})", "D"), ("median({})", "D"), ("max({})", "D")],
    "L": _COUNTS,
}
