"""Queries in Spark's real-time mode: what is different in them.

::

    records --Spark's own expressions--> rows --...--> records --Spark's own sink-->

All tasks run at once, each with a partition of a topic, and hand on every record as it
comes. A batch is no unit of work here but the time between two checkpoints: who goes on
after a crash writes again what came since the last one. Which queries can run so is
told by :mod:`arroyo_nb.plan.real_time`. Source: Spark's *Structured Streaming
Programming Guide*, "Real-time mode".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.codecs.bad_records import (
    DROP_HINT,
    IN_RECORD,
    MISMATCH,
    MISMATCH_HINT,
    TO_READ_IT,
)
from arroyo_nb.codecs.sql_decoder import SqlDecoder
from arroyo_nb.formats import payload_format
from arroyo_nb.records import (
    IN_OTHER_UNIT,
    NOT_MILLISECONDS,
    OFFSET,
    PARTITION,
    TIME,
    TOO_LATE,
    VALUE,
)
from arroyo_nb.schema import TIMESTAMP, quoted, quoted_text
from arroyo_nb.spark.bad_rows import bad_row, cut_text, drops_records
from arroyo_nb.spark.topics import payloads, words
from arroyo_nb.spark.windows import END_OF_TIME
from arroyo_nb.tape import SHOWN_CHARS, UNREAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.connectors import Stream
    from arroyo_nb.plan import nodes

_TIME, _WHY = "_time", "_why"


def decoded(records: DataFrame, stream: Stream, source: nodes.Source) -> DataFrame:
    """The rows of a source, as :data:`arroyo_nb.spark.lower.Read` gives them.

    Parameters
    ----------
    records
        As Spark gives them.
    stream
        What they are read from.
    source
        What they are read for.
    """
    table, spec = source.table, source.table.spec
    format_ = payload_format(str(table.format))
    decoder = format_.sql_decoder(spec.record, spec.options, spec.event_time)
    assert isinstance(decoder, SqlDecoder), "checked by the planner"
    found = dict(zip(spec.record.names, decoder.values, strict=True))
    found |= words(spec)
    time = TIME if spec.event_time is None else found[spec.event_time]
    too_late = quoted_text(
        NOT_MILLISECONDS + TO_READ_IT + IN_OTHER_UNIT
        if spec.event_time is None
        else TOO_LATE
    )
    place = f"{quoted_text(stream.topic)}, '[', {PARTITION}, '] offset ', {OFFSET}"
    present = payloads(records, stream, spec).filter(f"{VALUE} IS NOT NULL")
    rows = decoder.over(present).selectExpr(
        "*",
        f"{time} AS {_TIME}",
        f"coalesce({decoder.problem}, IF({time} >= {END_OF_TIME}, {too_late}, NULL)) "
        f"AS {_WHY}",
    )
    columns = {name: found[name] for name in spec.physical.names} | {TIMESTAMP: _TIME}
    # As many bytes as `shown_text` looks at.
    text = f"trim(CAST(substring({VALUE}, 1, {4 * (SHOWN_CHARS + 1)}) AS STRING))"
    if drops_records(table):
        bad = bad_row(
            place=f"concat({place})",
            text=text,
            reason=_WHY,
            origin=quoted_text(stream.topic),
            partition=PARTITION,
            offset=OFFSET,
        )
        columns[UNREAD] = f"IF({_WHY} IS NULL, NULL, {bad})"
    else:
        line = f"regexp_replace({cut_text(text)}, r'\\s+', ' ')"
        failure = (
            f"raise_error(concat({place}, ': ', {_WHY}, {quoted_text(IN_RECORD)}, "
            f"{line}, IF(startswith({_WHY}, {quoted_text(MISMATCH)}), "
            f"{_hint(MISMATCH_HINT)}, {_hint(DROP_HINT)})))"
        )
        # In each: Spark leaves out a column that nobody reads, and looks first at those
        # that a filter needs.
        for name, value in columns.items():
            columns[name] = f"IF({_WHY} IS NULL, {value}, {failure})"
    return rows.selectExpr(*(f"{v} AS {quoted(name)}" for name, v in columns.items()))


def _hint(text: str) -> str:
    """What :func:`arroyo_nb.spark.failures.run_problem` takes for the hint."""
    return quoted_text(f"\n  hint: {text}")
