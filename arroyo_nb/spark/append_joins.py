"""Inner joins of rows that only come, and are never forgotten: Spark's own join.

::

    left rows  --select--> columns, their time, the key --+
    right rows --select--> columns, their time, the key --+-- join --> columns, time

Its state is a row in the state store for each row of a side, so a batch reads and
writes what it has pairs of, and not all that came before, as a join in buckets does
(:mod:`arroyo_nb.spark.joins`). It has no time to live.

No column has the watermark: Spark would drop rows that come behind it, and here each
row meets every row of the other side, whatever their event times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.schema import TIMESTAMP, quoted
from arroyo_nb.spark.join_sides import join_sides, keys_equal
from arroyo_nb.spark.windows import unmarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.plan import nodes


def joined(
    left: DataFrame,
    right: DataFrame,
    node: nodes.UpdatingJoin,
    row_times: tuple[str, str],
) -> DataFrame:
    """The pairs: both sides' columns and ``_timestamp``.

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

    sides = join_sides(node, TIMESTAMP)
    ours, theirs = (
        side.rows(frame, row_time, unmarked(F.expr(row_time), side.time))
        for side, frame, row_time in zip(sides, (left, right), row_times, strict=True)
    )
    pairs = ours.join(theirs, F.expr(keys_equal(*sides)), "inner")
    names = [column for side in sides for column in side.columns()]
    times = ", ".join(quoted(side.time) for side in sides)
    return pairs.selectExpr(*names, f"greatest({times}) AS {TIMESTAMP}")
