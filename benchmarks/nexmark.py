"""The 24 queries of Nexmark, planned, against the same written by hand in PySpark.

Both ways read the same events in the same engine, in turn, and write to a sink that
discards the rows. Updating queries are compared with Spark's update mode, which sends
no retracts. ``--queries 5 7`` measures some, ``--events N`` takes fewer events.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from arroyo_nb.plan import nodes
from arroyo_nb.session import Session
from benchmarks import nexmark_by_hand as by_hand
from benchmarks.nexmark_events import (
    Events,
    Options,
    chosen,
    in_turn,
    make_chunks,
    planned_sink,
)
from benchmarks.report import Report, main
from benchmarks.streams import seconds

APPEND, UPDATING = 0.97, 0.4
"""The least ratio to the query by hand."""


def _by_hand(events: Events, query: by_hand.Query, *, updating: bool) -> float:
    """Seconds of a query that is written by hand."""
    mode = "update" if updating else "append"
    return seconds(lambda: query(events.stream()), mode)


def compare(report: Report, session: Session, folder: Path, options: Options) -> None:
    """Measure each query both ways, in turn."""
    events = Events(session.engine.session, folder)
    for number, hand in by_hand.queries():
        if number not in options.queries:
            continue
        sink = planned_sink(number, options.events)
        updating = nodes.is_updating(sink)
        ways: dict[str, Callable[[], float]] = {
            "planned": partial(events.planned, sink)
        }
        if hand is not None:
            ways["by hand"] = partial(_by_hand, events, hand, updating=updating)
        took_s = in_turn(ways, options.rounds, warm_up=1)
        for way, least_s in took_s.items():
            report.add(f"q{number}: {way}", options.events / least_s, "events/s")
        if hand is not None:
            ratio = took_s["by hand"] / took_s["planned"]
            target = UPDATING if updating else APPEND
            report.add(f"q{number}: ratio", ratio, "x", target=target, at_most=False)


def measure(report: Report, options: Options) -> None:
    """Make the events, then measure."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_chunks(folder, options.events)
        work = partial(compare, report, session, folder, options)
        session.engine.worker.call(work)


if __name__ == "__main__":
    options, others = chosen(sys.argv[1:])
    sys.exit(main(partial(measure, options=options), others))
