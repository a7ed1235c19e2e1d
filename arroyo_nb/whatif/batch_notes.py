"""What a reader of a what-if must know about the micro-batches that each delay met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.option_values import duration_literal
from arroyo_nb.tape import Clock, Recorded

GIVEN_BY_ROWS = "that %%arroyo_rows gave them"
RECORDED = "in which they were recorded"


def batch_notes(
    tables: Iterable[ConnectorTable], every: timedelta | None, speed: float | str
) -> Iterator[str]:
    """The notes, each a sentence.

    Parameters
    ----------
    tables
        What the query reads.
    every
        How much event time a micro-batch was asked to have; None: nothing was asked.
    speed
        At which the run was played.
    """
    origins = [(table.name, batches_from(table)) for table in tables]
    is_cut = any(origin is None for _, origin in origins)
    if every is None:
        if is_cut and speed == "max":
            yield (
                "without a speed the run read large micro-batches, and rows that come "
                "in one batch are never late because of each other: every='1m' "
                "(--every 1m) cuts the tape into batches of a minute, as a live stream "
                "has them"
            )
        return
    if is_cut:
        yield (
            f"a micro-batch has {duration_literal(every)} of the stream; in the run it "
            "had another length, and other rows were late"
        )
    for origin in dict.fromkeys(origin for _, origin in origins if origin):
        names = " and ".join(f"'{name}'" for name, of in origins if of == origin)
        yield (
            f"every (--every) has no effect on {names}: the rows come in the "
            f"micro-batches {origin}"
        )


def batches_from(table: ConnectorTable) -> str | None:
    """Where the micro-batches of a table come from, if no speed cuts them; else
    None."""
    connector = CONNECTORS.get(table.connector)
    if connector.info.clock is not Clock.ARRIVAL:
        return None
    try:
        recorder = connector.recorder(table.spec.resolved())
        # One that arrived at once may be cut by its event time.
        if not isinstance(recorder, Recorded) or recorder.arrived_at_once:
            return None
        return GIVEN_BY_ROWS if recorder.is_of_rows else RECORDED
    except ArroyoError:
        # The tape is gone since: what the run kept of it was asked.
        return None
