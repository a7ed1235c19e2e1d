"""Inner joins of rows that only come, and are never forgotten: Spark's own join.

::

    left rows  --select--> columns, their time --+
    right rows --select--> columns, their time --+-- join --> columns, the later time

Its state is a row in the state store for each row of a side. So a batch reads what it
has pairs of and writes what came, and not all that came before, as a join in buckets
does (:mod:`arroyo_nb.spark.joins`). It has no time to live.

No column of a side has the watermark: Spark would drop rows that come behind it, and
here each row meets every row of the other side, whatever their event times.

What a side keeps of its rows depends on the plan below alone. Spark would take out a
column, or a field of one, that nobody reads above, and the state would be another one
for who looks at the time, or after an edit above: the condition reads all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.schema import TIMESTAMP, quoted
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.windows import unmarked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame
    from sqlglot import exp

    from arroyo_nb.plan import nodes

_LAST = f"timestamp_micros({2**63 - 1}L)"


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
        The lowered inputs; of rows without a NULL among their keys.
    node
        How to join them.
    row_times
        The event time of a row of each input, as Spark SQL text.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = node.schema.names
    times = [free(f"{TIMESTAMP}_{number}", names) for number in (0, 1)]
    ours, theirs = (
        frame.select(
            # A column may be a copy of the event time, such as row_time().
            *(unmarked(F.col(quoted(name)), name) for name in side.schema.names),
            unmarked(F.expr(row_time), time),
        )
        for frame, side, row_time, time in zip(
            (left, right), node.inputs, row_times, times, strict=True
        )
    )
    keys = zip(*node.keys, strict=True)
    texts = [_key(of, time) for of, time in zip(keys, times, strict=True)]
    columns = ", ".join(map(quoted, (*names, *times)))
    # True of every pair by its first half, which Spark does not know: the other half,
    # with all columns, is hardly ever evaluated.
    time = f"element_at(array(struct({columns})), 1).{quoted(times[0])}"
    reads_all = f"{quoted(times[0])} <= {_LAST} OR coalesce({time}, {_LAST}) <= {_LAST}"
    pairs = ours.join(theirs, F.expr(f"{' = '.join(texts)} AND ({reads_all})"), "inner")
    later = f"greatest({', '.join(map(quoted, times))})"
    return pairs.selectExpr(*map(quoted, names), f"{later} AS {TIMESTAMP}")


def _key(keys: Iterable[exp.Expr], row_time: str) -> str:
    """The key of a row as one value, as Spark SQL text: of a struct Spark infers no
    ``IS NOT NULL`` that it could move below the watermark, where rows that it filters
    out would no longer move it."""
    values = (spark_sql(key, row_time=quoted(row_time)) for key in keys)
    fields = (f"'key_{place}', {value}" for place, value in enumerate(values))
    return f"named_struct({', '.join(fields)})"
