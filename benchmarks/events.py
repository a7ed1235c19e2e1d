"""How fast typed events become Arrow, and rows of Arrow become events again.

One core; the median of several rounds over the same objects. Beside it, in the same
round, the loop that a user would write: a dictionary for each object, by
``dataclasses.asdict`` or by hand, and then ``RecordBatch.from_pylist``.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from arroyo_nb import events
from benchmarks.report import Report, main

EVENTS, ROUNDS = 100_000, 5
FLAT_PER_S, NESTED_PER_S, TO_DICTIONARIES = 500_000, 100_000, 4.0


@dataclass
class Flight:
    """Five flat fields."""

    flight: str
    origin: str
    at: datetime
    minutes: int
    distance: float


@dataclass
class Leg:
    """A part of a trip."""

    origin: str
    miles: int


@dataclass
class Trip:
    """A list of objects, an object, a mapping, and a value that may be missing."""

    number: int
    at: datetime
    legs: list[Leg]
    best: Leg
    tags: dict[str, str]
    note: str | None


def flights(count: int) -> list[Flight]:
    """Flights, a second apart."""
    start = datetime(2026, 1, 1)
    return [
        Flight(f"UA{n % 900}", "EWR", start + timedelta(seconds=n), n % 60, n / 7)
        for n in range(count)
    ]


def trips(count: int) -> list[Trip]:
    """Trips of two legs."""
    start = datetime(2026, 1, 1)
    return [
        Trip(
            n,
            start + timedelta(seconds=n),
            [Leg("EWR", n % 2000), Leg("ORD", 700)],
            Leg("EWR", n % 2000),
            {"by": "UA"},
            None if n % 2 else "late",
        )
        for n in range(count)
    ]


def by_hand(some: Sequence[Flight]) -> list[dict[str, Any]]:
    """The dictionaries, a key at a time."""
    return [
        {
            "flight": one.flight,
            "origin": one.origin,
            "at": one.at,
            "minutes": one.minutes,
            "distance": one.distance,
        }
        for one in some
    ]


def into_arrow(some: Sequence[Any]) -> list[pa.RecordBatch]:
    """As :func:`arroyo_nb.events.batches` makes them."""
    return list(events.batches(type(some[0]), some))


def as_dictionaries(some: Sequence[Any]) -> pa.RecordBatch:
    """As a loop over the objects makes it."""
    rows = [asdict(one) for one in some]
    for row in rows:
        if "tags" in row:  # Arrow's lists of pairs
            row["tags"] = [{"key": k, "value": v} for k, v in row["tags"].items()]
    return pa.RecordBatch.from_pylist(rows, schema=events.schema(type(some[0])))


def seconds(work: Callable[[], object]) -> float:
    """CPU time: what else the machine does is not the work's."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(report: Report) -> None:
    """Events a second, into Arrow and back, and how often the loop's."""
    _measured(report, "flat", flights(EVENTS), FLAT_PER_S)
    _measured(report, "nested", trips(EVENTS // 4), NESTED_PER_S)
    some = flights(EVENTS)
    schema = events.schema(Flight)
    into_arrow(some)
    ratios = [
        seconds(lambda: pa.RecordBatch.from_pylist(by_hand(some), schema=schema))
        / seconds(lambda: into_arrow(some))
        for _ in range(ROUNDS)
    ]
    report.add("flat: to dictionaries by hand", statistics.median(ratios), "x")


def _measured(report: Report, kind: str, some: Sequence[Any], per_s: int) -> None:
    cls = type(some[0])
    (first, *_) = into_arrow(some)
    rows = pa.Table.from_batches(into_arrow(some))
    assert list(events.objects(cls, first)) == list(some[: len(first)])
    rounds = [
        (
            seconds(lambda: into_arrow(some)),
            seconds(lambda: as_dictionaries(some)),
            seconds(lambda: list(events.objects(cls, rows))),
        )
        for _ in range(ROUNDS)
    ]
    ours, _, back = map(statistics.median, zip(*rounds, strict=True))
    report.add(
        f"{kind}: into Arrow", len(some) / ours, "events/s", target=per_s, at_most=False
    )
    ratio = statistics.median(loop / made for made, loop, _ in rounds)
    report.add(
        f"{kind}: to the loop over dictionaries",
        ratio,
        "x",
        target=TO_DICTIONARIES,
        at_most=False,
    )
    report.add(f"{kind}: back to objects", len(some) / back, "events/s")


if __name__ == "__main__":
    sys.exit(main(measure))
