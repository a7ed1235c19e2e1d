"""Counts made in rows that are read again, as batch queries on the engine's worker.

The rows are the first that the run has read of each source, up to a bound, and all is
over within a time. What was not reached by then is counted when the doctor is asked
again, in the same rows. What depends on more than the rows themselves is left out: the
state of updating operators, and which rows were late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb.doctor.examination import (
    JOINED,
    NOT_PROBED,
    ConditionCount,
    FilterCount,
    KeyMatch,
    ListCount,
    LookupCount,
    Probed,
    SideSample,
    TimeSpread,
)
from arroyo_nb.doctor.values import key_text, value_text
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.registry import nearest_name
from arroyo_nb.run.observe.query_facts import (
    Condition,
    condition,
    join_text,
    parts_of,
)
from arroyo_nb.run.observe.snapshot import before_end
from arroyo_nb.schema import EPOCH, TIMESTAMP, WINDOW_STRUCT, quoted

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame
    from sqlglot import exp

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.sources.reader import OffsetRanges
    from arroyo_nb.run.sources.sources import Sources
    from arroyo_nb.source import ScriptText

MOST_ROWS = 100_000
"""Rows of each source that are read again."""

MOST_S = 10.0
"""How long all of it may take."""

SAMPLES = 3
"""Values, or keys, that a finding shows."""

LOOKED_VALUES = 200
"""Different values among which the one is looked for that a condition may mean."""


class _NotReplayed(Exception):
    """The rows of a node cannot be made from what was read alone."""


@dataclass
class Probe:
    """Reads rows of one output again.

    Parameters
    ----------
    engine
        Runs the queries.
    output
        Whose plan it is.
    sources
        Read the rows again.
    script
        Has the text of conditions.
    clock
        In seconds, monotonic.
    """

    engine: Engine
    output: Output
    sources: Sources
    script: ScriptText
    clock: Callable[[], float] = time.monotonic
    _ranges: OffsetRanges = field(default_factory=dict)
    _filters: list[FilterCount] = field(default_factory=list)
    _matches: list[KeyMatch] = field(default_factory=list)
    _lookups: list[LookupCount] = field(default_factory=list)
    _lists: list[ListCount] = field(default_factory=list)
    _times: list[TimeSpread] = field(default_factory=list)
    _dropped: set[int] = field(default_factory=set)
    """The nodes that have no row as something below, which is counted, dropped all."""
    _has_rows: dict[int, bool] = field(default_factory=dict)
    """The nodes that were counted, and whether they have rows."""
    _failed: set[int] = field(default_factory=set)
    """The nodes that cannot be counted."""
    _unreached: int = 0
    """How many nodes were not reached in time."""

    def __call__(self) -> Probed:
        """What was counted; what fails is left out, and so is, until this is called
        again, what takes too long."""
        if not self._unreached:
            self._begin()
        deadline = self.clock() + MOST_S
        try:
            if not self.engine.alive or not self.sources.has(self._ranges):
                return NOT_PROBED
        except Exception:  # a broker that does not answer, an engine that has died
            return NOT_PROBED
        self._unreached, empty = 0, set[int]()
        # Event times last: a condition explains more, and time may run out.
        order = sorted(walk(self.output.sink), key=_is_watermark)
        for node in order:
            if any(id(child) in self._dropped for child in node.inputs):
                self._dropped.add(id(node))
            if _is_empty(node, empty):
                empty.add(id(node))
                # Of a join the other side is still worth a look.
                if not isinstance(node, nodes.Joining):
                    continue
            count = self._counter(node)
            if count is None:
                continue
            self._count(id(node), count, deadline - self.clock())
            if id(node) in self._failed:
                continue
            if id(node) not in self._has_rows:
                self._unreached += 1
            elif not self._has_rows[id(node)]:
                empty.add(id(node))
                if not isinstance(node, nodes.Watermark):
                    self._dropped.add(id(node))
        return Probed(
            tuple(self._filters),
            tuple(self._matches),
            tuple(self._lookups),
            tuple(self._lists),
            tuple(self._times),
            _looked_at(len(self._failed), self._unreached),
        )

    def _begin(self) -> None:
        """Forget what was counted: in the meantime the run may have read more."""
        places = self.output.observation.places or {}
        self._ranges = {
            key: (_beginning(place), place) for key, place in places.items()
        }
        for counts in (self._filters, self._matches, self._lookups, self._lists):
            counts.clear()
        self._times.clear()
        self._dropped.clear()
        self._has_rows.clear()
        self._failed.clear()

    def _count(self, node: int, count: Callable[[], bool], left_s: float) -> None:
        """Count a node, if that can be done in time and was not done before."""

        def counted() -> None:
            # One that was waited for too short has been counted meanwhile.
            if node in self._has_rows or node in self._failed:
                return
            try:
                self._has_rows[node] = count()
            except Exception:
                # Of a UDF that raises, of a store that is away, of what cannot be
                # replayed: the doctor says what else it knows.
                self._failed.add(node)

        if node in self._has_rows or node in self._failed or left_s <= 0:
            return
        try:
            self.engine.worker.call(counted, timeout=left_s)
        except TimeoutError:
            return
        except Exception:  # the engine has ended
            self._failed.add(node)

    def _counter(self, node: nodes.Node) -> Callable[[], bool] | None:
        """What counts the rows of a node, and says whether it has any; None: nothing
        does."""
        match node:
            case nodes.Watermark():
                return partial(self._count_times, node)
            case nodes.Filter():
                return partial(self._count_conditions, node)
            case nodes.Unnest():
                return partial(self._count_elements, node)
            case nodes.Joining():
                return partial(self._compare_keys, node)
            case nodes.LookupJoin():
                return partial(self._count_lookups, node)
        return None

    def _count_times(self, node: nodes.Watermark) -> bool:
        time_ = quoted(TIMESTAMP)
        micros = f"unix_micros({time_})"
        found = _first_row(
            self._frame(node).selectExpr(
                "count(*) AS n",
                f"count_if({time_} IS NULL) AS nulls",
                f"min({micros}) AS first",
                f"percentile_approx({micros}, 0.9) AS most",
                f"max({micros}) AS last",
            )
        )
        source = next(n for n in walk(node) if isinstance(n, nodes.Source))
        self._times.append(
            TimeSpread(
                source.table.name,
                found["n"],
                found["nulls"],
                _instant(found["first"]),
                _instant(found["most"]),
                _instant(found["last"]),
            )
        )
        return bool(found["n"])

    def _count_conditions(self, node: nodes.Filter) -> bool:
        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import row_time

        time_, parts = row_time(node.input), parts_of(node)
        texts = [spark_sql(part, row_time=time_) for part in parts]
        frame = self._frame(node.input)
        counts = ["count(*) AS n", f"count_if({' AND '.join(texts)}) AS passed"]
        for number, text in enumerate(texts):
            counts.append(f"count_if({text}) AS passed_{number}")
            counts.append(f"count_if(({text}) IS NULL) AS nulls_{number}")
        found = _first_row(frame.selectExpr(*counts))
        conditions: list[ConditionCount] = []
        for number, part in enumerate(parts):
            passed = found[f"passed_{number}"]
            column, values, near = "", tuple[str, ...](), ""
            if found["n"] and not passed:
                column, values, near = _values(frame, part)
            conditions.append(
                ConditionCount(
                    condition(part, self.script),
                    passed,
                    found[f"nulls_{number}"],
                    column,
                    values,
                    near,
                )
            )
        self._filters.append(
            FilterCount(
                found["n"],
                found["passed"],
                tuple(conditions),
                _stands(node, [count.condition for count in conditions]),
                self._named,
                node.input.window is not None,
            )
        )
        return bool(found["passed"])

    @property
    def _named(self) -> str:
        """The output, where it has a name that its user knows."""
        table = self.output.sink.table
        return "" if table is None else f"INSERT INTO '{table.name}'"

    def _count_elements(self, node: nodes.Unnest) -> bool:
        from arroyo_nb.plan.explain.node_lines import sql_text

        came, went = self._frame(node.input).count(), self._frame(node).count()
        self._lists.append(ListCount(sql_text(node.list), came, went))
        return bool(went)

    def _compare_keys(self, node: nodes.Joining) -> bool:
        windowed = isinstance(node, nodes.WindowJoin)
        columns = [f"k{n}" for n in range(len(node.keys))]
        sides, tables = [], []
        for number, side in enumerate(node.inputs):
            keys = [pair[number] for pair in node.keys]
            sample, keyed = self._sample_keys(side, keys, columns)
            sides.append(sample)
            tables.append(keyed)
        left, right = tables
        shared_keys = (
            _shared(left, right, columns)
            if columns
            else min(side.keyed for side in sides)
        )
        shared_windows = _shared(left, right, [*columns, "w"]) if windowed else 0
        is_apart = windowed and not shared_windows
        lines = (condition(a, self.script).line for a, _ in node.keys)
        line = next(filter(None, lines), None)
        match = KeyMatch(
            join_text(node, self.script),
            line,
            sides[0],
            sides[1],
            shared_keys,
            windowed,
            shared_windows,
            _shared(left, right, ["w"]) if is_apart else 0,
            any(_is_of_other_window(*pair) for pair in node.keys),
        )
        self._matches.append(match)
        return bool(match.shared) or node.how != "inner"

    def _sample_keys(
        self,
        side: nodes.Node,
        keys: Sequence[exp.Expr],
        columns: Sequence[str],
    ) -> tuple[SideSample, DataFrame]:
        """Some keys of a side, and its rows with a key: the ``columns`` of the key, and
        ``w``, the window or the time."""
        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import row_time

        time_ = row_time(side)
        texts = [spark_sql(key, row_time=time_) for key in keys]
        named = [f"{text} AS {k}" for text, k in zip(texts, columns, strict=True)]
        rows = self._frame(side).selectExpr(*named, f"{time_} AS w")
        has_key = " AND ".join(f"{k} IS NOT NULL" for k in columns) or "true"
        row = f"IF({has_key}, array(struct({', '.join(columns or ['1'])})), array())"
        found = _first_row(
            rows.selectExpr(
                "count(*) AS n",
                f"count_if({has_key}) AS keyed",
                f"slice(array_sort(flatten(collect_set({row}))), 1, {SAMPLES}) AS k",
            )
        )
        keys_found = [tuple(key.values()) for key in found["k"]] if columns else []
        sample = SideSample(
            _side_name(side),
            found["n"],
            found["keyed"],
            tuple(map(key_text, keys_found)),
            id(side) in self._dropped,
        )
        return sample, rows.filter(has_key)

    def _count_lookups(self, node: nodes.LookupJoin) -> bool:
        from pyspark.sql import functions as F  # noqa: N812

        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import row_time

        before, after = self._frame(node.input), self._frame(node)
        came = before.count()
        if node.how == "inner":
            found = after.count()
        else:
            columns = [F.col(quoted(name)).isNotNull() for name, _ in node.columns]
            found = after.filter(F.greatest(F.lit(False), *columns)).count()
        keys: tuple[str, ...] = ()
        if came and not found:
            texts = [
                spark_sql(key, row_time=row_time(node.input)) for key, _ in node.keys
            ]
            rows = before.selectExpr(*(f"{t} AS k{n}" for n, t in enumerate(texts)))
            sample = _rows(rows.distinct().limit(SAMPLES))
            keys = tuple(sorted(key_text(list(row.values())) for row in sample))
        inner = node.how == "inner"
        self._lookups.append(LookupCount(node.table.name, came, found, inner, keys))
        return bool(found) or not inner

    def _frame(self, node: nodes.Node) -> DataFrame:
        """The rows of a node, made of what was read.

        Raises
        ------
        _NotReplayed
            When they depend on more than that.
        """
        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import lower, row_time

        if not any(isinstance(below, nodes.Stateful) for below in walk(node)):
            return lower(node, self._read, again=True)
        match node:
            case nodes.Filter():
                frame = self._frame(node.input)
                time_ = row_time(node.input)
                return frame.filter(spark_sql(node.predicate, row_time=time_))
            case nodes.Project():
                time_ = row_time(node.input)
                items = (
                    f"{spark_sql(i.expression, row_time=time_)} AS {quoted(i.name)}"
                    for i in node.items
                )
                return self._frame(node.input).selectExpr(*items, quoted(TIMESTAMP))
            case nodes.UpdatingJoin(how="inner"):
                return self._pairs(node)
            case nodes.UpdatingAggregate():
                return self._groups(node)
        raise _NotReplayed

    def _read(self, source: nodes.Source | nodes.LookupJoin) -> DataFrame:
        from arroyo_nb.spark.user_functions import register_datafusion

        spark, sink = self.engine.session, self.output.sink
        register_datafusion(spark, [e for n in walk(sink) for _, e in expressions(n)])
        frame = self.sources.read_again(spark, self._ranges, source)
        is_stream = isinstance(source, nodes.Source)
        return frame.limit(MOST_ROWS) if is_stream else frame

    def _pairs(self, node: nodes.UpdatingJoin) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import row_time

        frames = []
        for number, side in enumerate(node.inputs):
            time_ = row_time(side)
            keys = (
                f"{spark_sql(pair[number], row_time=time_)} AS _key_{number}_{n}"
                for n, pair in enumerate(node.keys)
            )
            columns = map(quoted, side.schema.names)
            frames.append(
                self._frame(side).selectExpr(
                    *columns, *keys, f"{time_} AS _time_{number}"
                )
            )
        tests = [f"_key_0_{n} = _key_1_{n}" for n in range(len(node.keys))]
        pairs = frames[0].join(frames[1], F.expr(" AND ".join(tests) or "true"))
        return pairs.selectExpr(
            *map(quoted, node.schema.names),
            f"greatest(_time_0, _time_1) AS {quoted(TIMESTAMP)}",
        ).limit(MOST_ROWS)

    def _groups(self, node: nodes.UpdatingAggregate) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        from arroyo_nb.spark.aggregates import is_native, measure_sql
        from arroyo_nb.spark.expressions import spark_sql
        from arroyo_nb.spark.lower import row_time

        if nodes.is_updating(node.input) or not all(map(is_native, node.measures)):
            raise _NotReplayed
        time_ = row_time(node.input)
        keys = [
            F.expr(f"{spark_sql(k.expression, row_time=time_)} AS {quoted(k.name)}")
            for k in node.keys
        ]
        measures = [
            F.expr(measure_sql(m, row_time=time_)).alias(m.name) for m in node.measures
        ]
        newest = F.expr(f"max({time_})").alias(TIMESTAMP)
        return self._frame(node.input).groupBy(*keys).agg(*measures, newest)


def _is_watermark(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Watermark)


def _beginning(place: Any) -> Any:
    """Where a source begins: of a tape its first chunk, of a topic where the run
    began."""
    return 0 if isinstance(place, int) else {}


def _looked_at(failed: int, unreached: int) -> str:
    said = f"I read up to {MOST_ROWS:,} rows of each source again."
    if failed:
        said += f" {_parts(failed)} of the query could not be checked."
    if unreached:
        said += (
            f" {_parts(unreached)} of the query could not be checked in {MOST_S:g} "
            "seconds; ask again to go on."
        )
    return said


def _parts(number: int) -> str:
    return f"{number} part{'' if number == 1 else 's'}"


def _first_row(frame: DataFrame) -> Any:
    (row,) = _rows(frame)
    return row


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a small frame; their times are those of UTC."""
    # collect() would give the times of this computer's zone.
    made: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return made


def _is_empty(node: nodes.Node, empty: set[int]) -> bool:
    """Whether a node has no row as those below it have none."""
    gone = [id(child) in empty for child in node.inputs]
    if isinstance(node, nodes.Joining) and node.how == "inner":
        return any(gone)
    return bool(gone) and all(gone)


def _is_of_other_window(left: exp.Expr, right: exp.Expr) -> bool:
    """Whether an equation of ON compares different parts of two windows."""
    from sqlglot import exp

    texts = []
    for side in (left, right):
        columns = list(side.find_all(exp.Column))
        if not columns or any(type_of(c) != WINDOW_STRUCT for c in columns):
            return False
        text = side.sql()
        for column in columns:
            text = text.replace(column.sql(), "w")
        texts.append(text)
    return texts[0] != texts[1]


def _instant(micros: int | None) -> datetime | None:
    if micros is None:
        return None
    return before_end((EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None))


def _stands(node: nodes.Filter, conditions: Sequence[Condition]) -> str:
    """Where a filter stands, as its author sees it."""
    origin = node.input.origin
    if isinstance(origin, nodes.Joining):
        return JOINED
    if clause := next((c.clause for c in conditions if c.clause), ""):
        return f"in {clause}"
    match origin:
        case nodes.WindowAggregate():
            return "behind the window"
        case nodes.UpdatingAggregate():
            return "behind GROUP BY"
    return "in WHERE"


def _shared(left: DataFrame, right: DataFrame, columns: Sequence[str]) -> int:
    """How many different values both sides have."""
    shared = left.select(*columns).intersect(right.select(*columns))
    return int(shared.count())


def _side_name(side: nodes.Node) -> str:
    tables = [n.table.name for n in walk(side) if isinstance(n, nodes.Source)]
    return " and ".join(f"'{name}'" for name in dict.fromkeys(tables)) or "one side"


def _values(frame: DataFrame, part: exp.Expr) -> tuple[str, tuple[str, ...], str]:
    """The one column that a condition speaks of, some of its values, and the text among
    them that it may mean."""
    from sqlglot import exp

    columns = list(dict.fromkeys(c.name for c in part.find_all(exp.Column)))
    if len(columns) != 1 or columns[0] not in frame.columns:
        return "", (), ""
    rows = _rows(frame.select(quoted(columns[0])).distinct().limit(LOOKED_VALUES))
    found = _sorted([v for row in rows for v in row.values() if v is not None])
    texts = {v for v in found if isinstance(v, str)}
    wanted = [e.name for e in part.find_all(exp.Literal) if e.is_string]
    near = next(filter(None, (_near(text, texts) for text in wanted)), "")
    values = tuple(map(value_text, found[: SAMPLES + 1]))
    return columns[0], values, near and value_text(near)


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # windows and other structs have no order in Python
        return sorted(values, key=value_text)


def _near(wanted: str, texts: set[str]) -> str:
    plain = wanted.strip().lower()
    same = sorted(text for text in texts if text.strip().lower() == plain)
    return same[0] if same else nearest_name(wanted, texts) or ""
