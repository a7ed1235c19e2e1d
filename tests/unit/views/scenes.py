"""Snapshots to draw: one for each state and kind of window."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from arroyo_nb.run.observe.snapshot import (
    Change,
    MarkPoint,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)

CLOSED, OPEN = WindowState.CLOSED, WindowState.OPEN
END = datetime(9998, 12, 31, 23)


def at(hour: int, minute: int = 0) -> datetime:
    """A moment of the day that all scenes play on."""
    return datetime(2013, 1, 1) + timedelta(hours=hour, minutes=minute)


def _mark(batch: int) -> MarkPoint:
    newest = at(8, 12 * batch)
    return MarkPoint(batch, batch * 0.4, newest, newest - timedelta(minutes=69))


TUMBLE = Snapshot(
    name="departures_by_hour",
    state=RunState.RUNNING,
    rows_in=1815,
    rows_out=9,
    rows_per_s=12_430.0,
    late_rows=37,
    batch_id=42,
    batch_ms=180.0,
    watermark=at(11, 12),
    max_event_time=at(12, 21),
    windowed=True,
    window_text="tumble 1 h",
    windows=(
        WindowBar(at(8), at(9), 312, 11, CLOSED, 9),
        WindowBar(at(9), at(10), 398, 25, CLOSED, 14),
        WindowBar(at(10), at(11), 421, 1, CLOSED, 31),
        WindowBar(at(11), at(12), 252, 0, OPEN),
        WindowBar(at(12), at(13), 79, 0, OPEN),
    ),
    history=tuple(map(_mark, range(22))),
    sources=(
        SourceProgress(
            "flights",
            1815,
            at(12, 21),
            timedelta(hours=1),
            bounded=True,
            dropped_rows=3,
            bad=("line 3: expected a number", "line 9: not json"),
        ),
    ),
    columns=("window", "origin", "flights", "mean_delay", "tail"),
    numeric=(False, False, True, True, False),
    rows=(
        ({"start": at(10), "end": at(11)}, "EWR", 161, 9.4, "N14228"),
        ({"start": at(10), "end": at(11)}, "JFK", 148, 12.125, None),
        ({"start": at(9), "end": at(10)}, "LGA", 112, 7.8, "x" * 120),
    ),
    rows_kept=9,
    can_pause=True,
)

HOP = replace(
    TUMBLE,
    window_text="hop 15 min, 1 h",
    windows=tuple(
        WindowBar(
            at(8, 15 * i), at(9, 15 * i), 90 + i, i % 3, CLOSED if i < 9 else OPEN
        )
        for i in range(18)
    ),
)

SESSIONS = replace(
    TUMBLE,
    window_text="session 10 min",
    sessions=True,
    windows=(
        WindowBar(at(9), at(9, 25), 31, 0, CLOSED),
        WindowBar(at(9, 40), at(10), 7, 0, CLOSED),
        WindowBar(at(9, 50), at(10, 50), 120, 0, CLOSED),
        WindowBar(at(11, 5), at(11, 20), 9, 0, OPEN),
        WindowBar(at(11, 10), at(12, 21), 44, 0, OPEN),
    ),
)

KEYED_SESSIONS = replace(
    TUMBLE,
    window_text="session 10 min",
    sessions=True,
    windows=(WindowBar(at(8), at(12, 21), 1815, 0, OPEN),),
    density=tuple(
        WindowBar(
            at(8, 4 * i),
            at(8, 4 * i + 4),
            20 + i % 7,
            i % 2,
            CLOSED if i < 40 else OPEN,
        )
        for i in range(65)
    ),
    closed_sessions=1612,
    open_sessions=13,
)

OVERLAPPING = replace(
    TUMBLE,
    window_text="hop 2 min, 1 h",
    windows=tuple(
        WindowBar(at(8, 2 * i), at(9, 2 * i), 100 + i, 0, CLOSED if i < 67 else OPEN)
        for i in range(131)
    ),
)

MANY = replace(
    TUMBLE,
    window_text="tumble 5 min",
    windows=tuple(
        WindowBar(at(8, 5 * i), at(8, 5 * i + 5), 40, 0, CLOSED if i < 38 else OPEN)
        for i in range(53)
    ),
)

UNWINDOWED = replace(TUMBLE, windowed=False, windows=(), late_rows=0, window_text="")

UPDATING = Snapshot(
    "flights_by_carrier",
    RunState.RUNNING,
    rows_in=6099,
    rows_out=1204,
    rows_kept=1204,
    batch_id=58,
    updating=True,
    result_rows=3,
    columns=("carrier", "n", "mean"),
    numeric=(False, True, True),
    rows=(("UA", 1018, 9.5), ("B6", 991, None), ("<b>", 1, 0.25)),
    changes=(
        Change("u", 58, ("UA", 1011, 9.5), ("UA", 1018, 9.5)),
        Change("c", 57, None, ("<b>", 1, 0.25)),
        Change("d", 55, ("OO", 1, 12.0), None),
    ),
    can_pause=True,
)

FAILED = replace(
    TUMBLE,
    state=RunState.FAILED,
    error="expected BIGINT for 'delay'\n  hint: write bad_data = 'drop'",
)

FINISHED = replace(
    TUMBLE,
    state=RunState.FINISHED,
    watermark=END,
    note="the sources have ended",
    windows=tuple(replace(w, state=CLOSED) for w in TUMBLE.windows),
)

STOPPED = replace(TUMBLE, state=RunState.STOPPED, note="stopped by interrupt")

PAUSED = replace(TUMBLE, paused=True)

STARTING = Snapshot("q", RunState.STARTING, note="starting Spark", windowed=True)

SCENES = {
    "tumble": TUMBLE,
    "hop": HOP,
    "sessions": SESSIONS,
    "sessions by key": KEYED_SESSIONS,
    "overlapping": OVERLAPPING,
    "many": MANY,
    "unwindowed": UNWINDOWED,
    "updating": UPDATING,
    "failed": FAILED,
    "finished": FINISHED,
    "stopped": STOPPED,
    "paused": PAUSED,
    "starting": STARTING,
}
