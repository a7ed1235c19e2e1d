"""Joins of windowed rows on Spark: its own join of two streams, by the window.

::

    left rows  --select--> columns, their window, the key --+
    right rows --select--> columns, their window, the key --+-- join --> columns, window

The rows of a window leave both inputs in the micro-batch that closes it, with one
watermark: so do their pairs, and the state is empty again when the batch has ended.

The window is a plain column, with the watermark, or Spark would not know when an outer
join may send a row without a match. Each side has one such column, and so has what
leaves the join: a stateful operator refuses an input with two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.schema import quoted
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.windows import END_OF_TIME, WINDOW, marked

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from sqlglot import exp

_KEY, _UNMATCHED = "_key", "unmatched"
_HOW: dict[nodes.How, str] = {
    "inner": "inner",
    "left": "left_outer",
    "right": "right_outer",
    "full": "full_outer",
}


@dataclass(frozen=True)
class _Side:
    """An input of the join, and what its hidden columns are called.

    Parameters
    ----------
    node
        The input.
    keys
        Its expressions that must equal the other side's.
    number
        0 for the left side, 1 for the right one.
    window, key
        Columns of no other name of the pairs.
    """

    node: nodes.Node
    keys: tuple[exp.Expr, ...]
    number: int
    window: str
    key: str

    def rows(self, frame: DataFrame, row_time: str) -> DataFrame:
        """The columns of the lowered input, its window and its key.

        The key is one struct, in which NULL equals NULL: of a row with a NULL among its
        keys, the last field equals none of the other side. Of a struct Spark also
        infers no ``IS NOT NULL`` that it could move below the watermark, where rows
        that it filters out would no longer move it.
        """
        columns = [quoted(name) for name in self.node.schema.names]
        columns.append(f"{quoted(WINDOW)} AS {quoted(self.window)}")
        values = [spark_sql(key, row_time=row_time) for key in self.keys]
        fields = [f"'key_{place}', {value}" for place, value in enumerate(values)]
        if fields:
            is_null = " OR ".join(f"({value}) IS NULL" for value in values)
            fields.append(f"'{_UNMATCHED}', IF({is_null}, {self.number + 1}, 0)")
            key = f"named_struct({', '.join(fields)})"
            columns.append(f"{key} AS {quoted(self.key)}")
        return frame.selectExpr(*columns)

    def columns(self) -> list[str]:
        """The input's columns, out of the pairs.

        All go through one struct, of which Spark drops no field that nobody reads: so
        what the join keeps of a row depends on the plan alone, and not on what is above
        it.
        """
        names = [quoted(name) for name in self.node.schema.names]
        row = f"element_at(array(struct({', '.join(names)})), 1)"
        return [f"{row}.{name} AS {name}" for name in names]


def joined(
    left: DataFrame,
    right: DataFrame,
    node: nodes.WindowJoin,
    row_times: tuple[str, str],
) -> DataFrame:
    """The pairs: both sides' columns and ``_window``.

    Parameters
    ----------
    left, right
        The lowered inputs.
    node
        How to join them.
    row_times
        The event time of a row of each input, as Spark SQL text.
    """
    from pyspark.sql import functions as F  # noqa: N812

    sides = _sides(node)
    ours, theirs = (
        side.rows(frame, row_time)
        for side, frame, row_time in zip(sides, (left, right), row_times, strict=True)
    )
    pairs = ours.join(theirs, F.expr(_condition(node, *sides)), _HOW[node.how])
    columns = [F.expr(column) for side in sides for column in side.columns()]
    return pairs.select(*columns, _window(node, *sides))


def _sides(node: nodes.WindowJoin) -> tuple[_Side, _Side]:
    keys = tuple(zip(*node.keys, strict=True)) or ((), ())
    taken = node.schema.names

    def side(number: int) -> _Side:
        names = (free(f"{name}_{number}", taken) for name in (WINDOW, _KEY))
        return _Side(node.inputs[number], keys[number], number, *names)

    return side(0), side(1)


def _condition(node: nodes.WindowJoin, left: _Side, right: _Side) -> str:
    tests = [f"{quoted(left.window)} = {quoted(right.window)}"]
    if node.keys:
        tests.append(f"{quoted(left.key)} = {quoted(right.key)}")
    if node.condition is not None:
        # Like a filter (see lower_filter): it reads the window, so that Spark moves no
        # part of it below the watermark. row_time() is refused in it.
        condition = spark_sql(node.condition, row_time="NULL")
        tests.append(f"({condition} <=> ({quoted(left.window)}.`end` < {END_OF_TIME}))")
    return " AND ".join(tests)


def _window(node: nodes.WindowJoin, left: _Side, right: _Side) -> Column:
    """The window of the pairs; of a padded row that of the side which is there."""
    from pyspark.sql import functions as F  # noqa: N812

    ours, theirs = quoted(left.window), quoted(right.window)
    if node.how == "full":
        return marked(f"coalesce({ours}, {theirs})", WINDOW)
    return F.col(theirs if node.how == "right" else ours).alias(WINDOW)
