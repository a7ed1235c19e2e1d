"""One trigger of a streaming query as plain numbers with units.

Nothing else reads Spark's progress dictionary (spark.sql.streaming's
StreamingQueryProgress), so a change of its spelling is a change of this file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, TypeVar

from arroyo_nb.connectors import offsets_of, topic_of
from arroyo_nb.run.sources.reader import SourceOffset, SourceOffsets, topic_key
from arroyo_nb.state.files import HEARTBEAT
from arroyo_nb.state.manifest import numbered, read_places

T = TypeVar("T")

SESSIONS = "sessionWindowStateStoreSaveExec"
"""Spark's name of the operator that keeps sessions."""

_UNKNOWN = -1
"""What Spark says of rows that it did not count."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class OperatorState:
    """What a stateful operator keeps: Spark's name of it, and what Spark counts."""

    operator: str
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class TriggerProgress:
    """What one micro-batch did.

    Parameters
    ----------
    batch_id
        Spark's, counted from 0 over restarts.
    source_rows
        Per source, by its key: rows read, the end-of-stream row among them; of a source
        that the query reads twice, once.
    batch_ms
        Duration of the whole trigger.
    watermark
        The watermark that this batch closed windows with, aware UTC; None before the
        first.
    max_event_time
        Newest event time of this batch at the first watermark; None without rows.
    places
        Per source, by its key: how far it has been read; where a query reads it twice,
        by the slower reader.
    first_places
        The same before this batch.
    state_rows, state_bytes
        Rows held by all stateful operators, and the memory that these take.
    states
        What each stateful operator holds, readers before their inputs.
    open_sessions
        Sessions that are still open; None where there is no window of that kind.
    observed
        Observed metrics by name, as Spark gives them, and what was counted beside it
        (:class:`arroyo_nb.spark.observe.WindowInputs`).
    written_rows
        Rows that Spark itself wrote; None where a writer of ours did.
    ran
        False for what Spark says now and then while it has nothing to do; it carries
        the number of the batch to come.
    """

    batch_id: int
    batch_ms: float
    watermark: datetime | None
    max_event_time: datetime | None = None
    places: SourceOffsets = field(default_factory=dict)
    first_places: SourceOffsets = field(default_factory=dict)
    source_rows: Mapping[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    states: tuple[OperatorState, ...] = ()
    open_sessions: int | None = None
    observed: Mapping[str, Any] = field(default_factory=dict)
    written_rows: int | None = None
    ran: bool = True

    @property
    def input_rows(self) -> int:
        """Rows read of all sources."""
        return sum(self.source_rows.values())


def read_progress(raw: Mapping[str, Any]) -> TriggerProgress:
    """Read Spark's dictionary of one trigger.

    >>> read_progress({"batchId": 3, "numInputRows": 7, "sources": []}).batch_id
    3
    """
    every = raw.get("sources", ())
    # Beats are rows for Spark and no data to anybody else.
    sources = [source for source in every if _key(source) != HEARTBEAT]
    return TriggerProgress(
        batch_id=int(raw["batchId"]),
        batch_ms=float(raw.get("durationMs", NOTHING).get("triggerExecution", 0)),
        watermark=_instant(raw.get("eventTime", NOTHING).get("watermark")),
        max_event_time=_instant(raw.get("eventTime", NOTHING).get("max")),
        places=_by_source(sources, partial(_place, "endOffset"), slower),
        first_places=_by_source(sources, partial(_place, "startOffset"), slower),
        source_rows=_by_source(sources, _rows_read, max),
        state_rows=_of_states(raw, "numRowsTotal"),
        state_bytes=_of_states(raw, "memoryUsedBytes"),
        states=tuple(map(_state, raw.get("stateOperators", ()))),
        open_sessions=_open_sessions(raw),
        observed=raw.get("observedMetrics", NOTHING),
        written_rows=_written(raw),
        # Spark reports triggers without a batch now and then: they lack this duration.
        ran="addBatch" in raw.get("durationMs", NOTHING),
    )


SEEN_S = 2.0
"""How late the end of a batch may be seen."""


def in_real_time(progress: TriggerProgress, elapsed_s: float) -> TriggerProgress:
    """A progress whose batch took no longer than there was time for it: Spark takes it
    by the time of day, which may be set meanwhile.

    Parameters
    ----------
    elapsed_s
        Since the batch before was seen to have ended, by a clock that nobody sets.

    >>> raw = {"batchId": 3, "durationMs": {"triggerExecution": 3_600_500}}
    >>> in_real_time(read_progress(raw), 0.5).batch_ms
    2500.0
    """
    most_ms = (elapsed_s + SEEN_S) * 1000
    return replace(progress, batch_ms=min(max(progress.batch_ms, 0.0), most_ms))


def new_batches(
    newest: TriggerProgress, recent: Callable[[], Iterable[TriggerProgress]], first: int
) -> list[TriggerProgress]:
    """The batches that have run since, oldest first.

    Parameters
    ----------
    newest
        The newest progress.
    recent
        Gives all that Spark still has, oldest first; costs more than the newest.
    first
        Number of the first batch that is news.
    """
    # A trigger without a batch bears the number of the batch to come.
    done = newest.batch_id if newest.ran else newest.batch_id - 1
    if done < first:
        return []
    if newest.ran and done == first:
        return [newest]
    return [each for each in recent() if each.ran and each.batch_id >= first]


def logged_watermark(checkpoint: Path, batch_id: int) -> datetime | None:
    """The watermark of a batch of before a restart, as Spark's offset log has it: a
    version, then a line of JSON with the batch's watermark, then the offsets."""
    try:
        lines = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
        watermark_ms = json.loads(lines[1])["batchWatermarkMs"]
    except (OSError, IndexError, KeyError, ValueError):
        return None
    return datetime.fromtimestamp(watermark_ms / 1000, UTC) if watermark_ms else None


@dataclass(frozen=True)
class LoggedBatch:
    """The newest committed micro-batch of a checkpoint, where a query goes on.

    Parameters
    ----------
    batch_id
        Its number.
    watermark
        As :attr:`TriggerProgress.watermark`.
    places
        Per topic, by its key: how far it had been read. Of a folder the log has a
        number, and not which folder it is.
    """

    batch_id: int
    watermark: datetime | None = None
    places: SourceOffsets = field(default_factory=dict)

    @classmethod
    def newest(cls, checkpoint: Path) -> LoggedBatch | None:
        """That of a checkpoint; None where no batch is committed, or it cannot be
        read."""
        batch = max(numbered(checkpoint / "commits"), default=None)
        if batch is None:
            return None
        try:
            logged = read_places(checkpoint / "offsets" / str(batch))
        except (OSError, ValueError):
            return None
        places: dict[str, SourceOffset] = {}
        for source in logged:
            if not isinstance(source, dict):
                continue
            for topic, place in offsets_of(source).items():
                key = topic_key(topic)
                # A query that reads a topic twice has come as far as its slower reader.
                places[key] = slower(places[key], place) if key in places else place
        return cls(batch, logged_watermark(checkpoint, batch), places)


def _written(raw: Mapping[str, Any]) -> int | None:
    rows = int(raw.get("sink", NOTHING).get("numOutputRows", _UNKNOWN))
    return None if rows == _UNKNOWN else rows


def _state(told: Mapping[str, Any]) -> OperatorState:
    counts = (int(told.get(n, 0)) for n in ("numRowsTotal", "memoryUsedBytes"))
    return OperatorState(str(told.get("operatorName", "")), *counts)


def _of_states(raw: Mapping[str, Any], counter: str) -> int:
    return sum(int(state.get(counter, 0)) for state in raw.get("stateOperators", ()))


def _open_sessions(raw: Mapping[str, Any]) -> int | None:
    """Rows of the state of session windows: Spark keeps one for each session."""
    states = raw.get("stateOperators", ())
    rows = [int(s["numRowsTotal"]) for s in states if s.get("operatorName") == SESSIONS]
    return sum(rows) if rows else None


def _instant(text: str | None) -> datetime | None:
    # Spark says the epoch where it means "no watermark yet".
    if not text or text.startswith("1970-01-01T00:00:00.000"):
        return None
    return datetime.fromisoformat(text).astimezone(UTC)


def _key(source: Mapping[str, Any]) -> str:
    """What a source's feed is called."""
    description = str(source["description"])
    if topic := topic_of(description):
        return topic_key(topic)
    # "FileStreamSource[file:/home/ada/sources/flights]" -> "flights"
    return PurePosixPath(description.rstrip("]")).name


def _rows_read(source: Mapping[str, Any]) -> int:
    return int(source.get("numInputRows", 0))


def _place(offset: str, source: Mapping[str, Any]) -> SourceOffset:
    found = source.get(offset) or NOTHING
    if topic := topic_of(str(source["description"])):
        return offsets_of(found).get(topic, {})
    # One chunk is one entry of the file source's log, and logOffset counts from 0.
    return int(found.get("logOffset", -1)) + 1


def slower(one: SourceOffset, other: SourceOffset) -> SourceOffset:
    """The place of the slower of two readers of a source."""
    if isinstance(one, int) or isinstance(other, int):
        assert isinstance(one, int)
        assert isinstance(other, int)
        return min(one, other)
    # A partition that one of them has not begun to read is read by none, as a whole.
    return {number: min(one[number], other[number]) for number in one.keys() & other}


def _by_source(
    sources: Iterable[Mapping[str, Any]],
    value: Callable[[Mapping[str, Any]], T],
    choose: Callable[[T, T], T],
) -> dict[str, T]:
    """One value per source, chosen where the query reads it more than once."""
    found: dict[str, T] = {}
    for source in sources:
        name, read = _key(source), value(source)
        found[name] = choose(found[name], read) if name in found else read
    return found
