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
    frames = [
        _side(frame, side, [key[number] for key in node.keys], row_time, number)
        for number, (frame, side, row_time) in enumerate(
            zip((left, right), node.inputs, row_times, strict=True)
        )
    ]
    pairs = frames[0].join(frames[1], _condition(node), _HOW[node.how])
    columns = [column for side in node.inputs for column in _taken_apart(side)]
    return pairs.select(*columns, _window(node))


def _side(
    frame: DataFrame,
    side: nodes.Node,
    keys: list[exp.Expr],
    row_time: str,
    number: int,
) -> DataFrame:
    """The columns of an input, its window and its key.

    The key is one struct, in which NULL equals NULL: of a row with a NULL among its
    keys, the last field equals none of the other side. Of a struct Spark also infers no
    ``IS NOT NULL`` that it could move below the watermark, where rows that it filters
    out would no longer move it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    columns = [
        # A column that is the window has the watermark too: only one may.
        F.col(quoted(name)).alias(name, metadata={})
        for name in side.schema.names
    ]
    values = [spark_sql(key, row_time=row_time) for key in keys]
    fields = [f"'key_{place}', {value}" for place, value in enumerate(values)]
    is_null = " OR ".join(f"({value}) IS NULL" for value in values) or "false"
    fields.append(f"'{_UNMATCHED}', IF({is_null}, {number + 1}, 0)")
    key = F.expr(f"named_struct({', '.join(fields)})").alias(_of(_KEY, number))
    return frame.select(*columns, F.col(WINDOW).alias(_of(WINDOW, number)), key)


def _condition(node: nodes.WindowJoin) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    tests = [f"{_of(name, 0)} = {_of(name, 1)}" for name in (WINDOW, _KEY)]
    if node.condition is not None:
        # Like a filter (see lower_filter): it reads the window, so that Spark moves no
        # part of it below the watermark. row_time() is refused in it.
        condition = spark_sql(node.condition, row_time="NULL")
        tests.append(f"({condition} <=> ({_of(WINDOW, 0)}.`end` < {END_OF_TIME}))")
    return F.expr(" AND ".join(tests))


def _taken_apart(side: nodes.Node) -> list[Column]:
    """The columns of a side of the pairs.

    All go through one struct, of which Spark drops no field that nobody reads: so what
    the join keeps of a row depends on the plan alone, and not on what is above it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = [quoted(name) for name in side.schema.names]
    row = f"element_at(array(struct({', '.join(names)})), 1)"
    return [F.expr(f"{row}.{name} AS {name}") for name in names]


def _window(node: nodes.WindowJoin) -> Column:
    """The window of the pairs; of a padded row that of the side which is there."""
    from pyspark.sql import functions as F  # noqa: N812

    left, right = (_of(WINDOW, number) for number in (0, 1))
    if node.how == "full":
        return marked(f"coalesce({left}, {right})", WINDOW)
    return F.col(right if node.how == "right" else left).alias(WINDOW)


def _of(name: str, number: int) -> str:
    """The hidden column of a side."""
    return f"{name}_{number}"
