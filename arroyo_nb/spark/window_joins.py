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

from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.schema import quoted
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.join_sides import JoinSide, join_sides, keys_equal
from arroyo_nb.spark.windows import END_OF_TIME, WINDOW, marked

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HOW: dict[nodes.How, str] = {
    "inner": "inner",
    "left": "left_outer",
    "right": "right_outer",
    "full": "full_outer",
}


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

    sides = join_sides(node, WINDOW)
    ours, theirs = (
        side.rows(frame, row_time, F.col(WINDOW).alias(side.time))
        for side, frame, row_time in zip(sides, (left, right), row_times, strict=True)
    )
    pairs = ours.join(theirs, F.expr(_condition(node, *sides)), _HOW[node.how])
    columns = [F.expr(column) for side in sides for column in side.columns()]
    return pairs.select(*columns, _window(node, *sides))


def _condition(node: nodes.WindowJoin, left: JoinSide, right: JoinSide) -> str:
    tests = [f"{quoted(left.time)} = {quoted(right.time)}"]
    if node.keys:
        tests.append(keys_equal(left, right))
    if node.condition is not None:
        # Like a filter (see lower_filter): it reads the window, so that Spark moves no
        # part of it below the watermark. row_time() is refused in it.
        condition = spark_sql(node.condition, row_time="NULL")
        tests.append(f"({condition} <=> ({quoted(left.time)}.`end` < {END_OF_TIME}))")
    return " AND ".join(tests)


def _window(node: nodes.WindowJoin, left: JoinSide, right: JoinSide) -> Column:
    """The window of the pairs; of a padded row that of the side which is there."""
    from pyspark.sql import functions as F  # noqa: N812

    ours, theirs = quoted(left.time), quoted(right.time)
    if node.how == "full":
        return marked(f"coalesce({ours}, {theirs})", WINDOW)
    return F.col(theirs if node.how == "right" else ours).alias(WINDOW)
