"""What a job says of itself over HTTP, on loopback only: health, readiness, metrics.

``/healthz`` is liveness: 200 while the job starts or runs, and 503 while it waits to
begin again and once it has ended. ``/readyz`` is readiness: 200 while it runs and does
its work (:mod:`arroyo_nb.jobs.runner.readiness`), else 503 with the reasons. Both
bodies are JSON objects. ``/metrics`` is Prometheus's text format, by its own client
library.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC
from http import HTTPStatus
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.runner.server import HttpAnswer, serving
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import before_end
from arroyo_nb.run.observe.vitals import BOUNDS_S

if TYPE_CHECKING:
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
    )

    from arroyo_nb.jobs.runner.monitor import Monitor, Sight
    from arroyo_nb.jobs.runner.supervisor import Supervisor
    from arroyo_nb.run.observe.snapshot import Snapshot
    from arroyo_nb.run.observe.vitals import Vitals
    from arroyo_nb.run.run import Run

    M = TypeVar("M", CounterMetricFamily, GaugeMetricFamily)

HEALTHY = (JobState.STARTING, JobState.RUNNING)
_QUERY = ["job", "query", "sink"]


class JobCollector:
    """What the endpoint says: looked at anew at each question, from its threads.

    Parameters
    ----------
    job
        Its name, a label of every metric.
    supervisor, monitor
        Of the job.
    """

    def __init__(self, job: str, supervisor: Supervisor[Run], monitor: Monitor) -> None:
        self._job = job
        self._supervisor = supervisor
        self._monitor = monitor

    def health(self) -> tuple[bool, dict[str, object]]:
        """Whether it lives, and what is said of it."""
        state, error = self._supervisor.state, self._supervisor.error
        said: dict[str, object] = {"job": self._job, "state": state.value}
        said["restarts"] = self._supervisor.restarted
        if error is not None:
            said["error"] = str(error)
        return state in HEALTHY, said

    def readiness(self) -> tuple[bool, dict[str, object]]:
        """Whether it does its work, and what is said of it."""
        sight = self._monitor.look()
        return sight.is_ready, {"job": self._job, **sight.noted()}

    def collect(self) -> Iterable[Metric]:
        """The metrics, as a collector of Prometheus's client gives them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        up = self._supervisor.state is JobState.RUNNING
        yield self._one(GaugeMetricFamily, "up", "Whether its queries run.", up)
        restarts = self._supervisor.restarted
        text = "How often it began again."
        yield self._one(CounterMetricFamily, "restarts", text, restarts)
        sight = self._monitor.look()
        text = "Whether it does its work, as /readyz tells it."
        yield self._one(GaugeMetricFamily, "ready", text, sight.is_ready)
        if sight.snapshot is None:
            return
        for name, text, value in _counts(sight):
            yield self._one(CounterMetricFamily, name, text, value)
        for name, text, level in _levels(sight.snapshot):
            if level is not None:
                yield self._one(GaugeMetricFamily, name, text, level)
        yield from self._of_sources(sight)
        yield from self._of_queries(sight.queries)

    def _of_sources(self, sight: Sight) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        lag = GaugeMetricFamily(
            "arroyo_nb_lag_records", "Records that are still to be read.",
            labels=["job", "source", "partition"],
        )  # fmt: skip
        reachable = GaugeMetricFamily(
            "arroyo_nb_broker_reachable",
            "Whether the broker of a table answers, asked every few seconds, or a feed "
            "has a connection.",
            labels=["job", "table"],
        )
        # A view may still read the table that a name meant before: one name, two lags.
        lags: Counter[tuple[str, int]] = Counter()
        away_s = dict(sight.sinks_away_s)
        for source in sight.snapshot.sources if sight.snapshot else ():
            for part in source.partitions if source.ends_known else ():
                lags[source.name, part.number] += part.lag
            if source.partitions or source.is_feed:
                away_s[source.name] = max(away_s.get(source.name, 0.0), source.away_s)
        for (name, number), records in lags.items():
            lag.add_metric([self._job, name, str(number)], records)
        for name, seconds in away_s.items():
            reachable.add_metric([self._job, name], seconds == 0)
        yield lag
        yield reachable
        yield from self._of_late_rows(sight)
        yield from self._of_feeds(sight)

    def _of_late_rows(self, sight: Sight) -> Iterator[Metric]:
        """By partition where that is known, else of the source with an empty label: the
        sum over all is the source's, each row once."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        labels = ["job", "source", "partition"]
        rows = CounterMetricFamily(
            "arroyo_nb_windowed_rows",
            "Rows that came into windows, since the run started.",
            labels=labels,
        )
        late = CounterMetricFamily(
            "arroyo_nb_source_late_rows",
            "Rows of these that came too late for a window, since the run started.",
            labels=labels,
        )
        recent = GaugeMetricFamily(
            "arroyo_nb_late_share",
            "The share of late rows among those of the last 5 minutes, from 0 to 1.",
            labels=labels,
        )
        sources = sight.snapshot.sources if sight.snapshot else ()
        # Of two tables with one name: a label has one value.
        for source in {source.name: source for source in sources}.values():
            shares = source.late_shares
            parts = [share for share in shares if share.partition is not None]
            for share in parts or shares:
                place = [self._job, source.name, _label(share.partition)]
                rows.add_metric(place, share.rows)
                late.add_metric(place, share.late_rows)
        by_partition = {s.source for s in sight.late if s.partition is not None}
        for found in sight.late:
            if found.partition is not None or found.source not in by_partition:
                place = [self._job, found.source, _label(found.partition)]
                recent.add_metric(place, found.share)
        yield from (rows, late, recent)

    def _of_feeds(self, sight: Sight) -> Iterator[Metric]:
        """What feeds may have missed, since the run started."""
        from prometheus_client.core import CounterMetricFamily

        gaps = CounterMetricFamily(
            "arroyo_nb_feed_gaps",
            "How often a feed was connected again, with messages missing between.",
            labels=["job", "source"],
        )
        lost = CounterMetricFamily(
            "arroyo_nb_feed_lost_messages",
            "Messages that came faster than they were read.",
            labels=["job", "source"],
        )
        sources = sight.snapshot.sources if sight.snapshot else ()
        # Of two tables with one name: a label has one value.
        feeds = {source.name: source for source in sources if source.is_feed}
        for name, feed in feeds.items():
            gaps.add_metric([self._job, name], feed.gaps)
            lost.add_metric([self._job, name], feed.lost_messages)
        yield gaps
        yield lost

    def _of_queries(self, queries: Iterable[Vitals]) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

        since = GaugeMetricFamily(
            "arroyo_nb_since_batch_seconds",
            "Time since a query ended a micro-batch, or was started.",
            labels=_QUERY,
        )
        busy = GaugeMetricFamily(
            "arroyo_nb_busy_seconds",
            "For how long a query has been at work without ending a micro-batch.",
            labels=_QUERY,
        )
        state = GaugeMetricFamily(
            "arroyo_nb_state_bytes",
            "Memory of the state of a query.",
            labels=_QUERY,
        )
        took = HistogramMetricFamily(
            "arroyo_nb_batch_duration_seconds",
            "How long micro-batches took, since it last began.",
            labels=_QUERY,
        )
        bounds = (*(f"{bound:g}" for bound in BOUNDS_S), "+Inf")
        for number, query in enumerate(queries):
            labels = [self._job, str(number), query.name]
            since.add_metric(labels, query.since_batch_s)
            busy.add_metric(labels, query.busy_s)
            state.add_metric(labels, query.state_bytes)
            counts = list(zip(bounds, accumulate(query.batch_counts), strict=True))
            took.add_metric(labels, counts, query.batch_sum_s)
        yield from (since, busy, state, took)

    def _one(self, kind: type[M], name: str, text: str, value: float) -> M:
        made = kind(f"arroyo_nb_{name}", text, labels=["job"])
        made.add_metric([self._job], value)
        return made


def _label(partition: int | None) -> str:
    return "" if partition is None else str(partition)


def _counts(sight: Sight) -> Iterator[tuple[str, str, int]]:
    counts = sight.counts
    yield "rows_in", "Rows read, by all processes of the job.", counts.rows_in
    yield "rows_out", "Rows written, of updating queries changes.", counts.rows_out
    yield "late_rows", "Rows that came too late.", counts.late_rows
    yield "dropped_rows", "Malformed rows that were left out.", counts.dropped_rows
    text = "Records with fields that the schema of their table lacks, where it is told."
    yield "unknown_field_records", text, counts.unknown_records


def _levels(picture: Snapshot) -> Iterator[tuple[str, str, float | None]]:
    """Those that may not be known yet."""
    took, mark = picture.batch_ms, before_end(picture.watermark)
    yield "batch", "Number of the newest micro-batch.", picture.batch_id
    yield "batch_seconds", "How long that took.", took and took / 1000
    at = None if mark is None else mark.replace(tzinfo=UTC).timestamp()
    yield "watermark_timestamp_seconds", "Its watermark.", at
    lag = None if at is None else max(0.0, time.time() - at)
    yield "watermark_lag_seconds", "How far the watermark is behind the clock.", lag


def served(told: JobCollector, port: int) -> AbstractContextManager[int]:
    """Answer while it is held; gives the port, also where 0 asked for a free one.

    Raises
    ------
    RunProblem
        When the port is taken, or Prometheus's client is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError:
        raise RunProblem(
            "the metrics of a job need the package prometheus-client",
            hint="pip install 'arroyo-nb[job]'",
        ) from None
    registry = CollectorRegistry()
    registry.register(told)
    kind = "text/plain; version=0.0.4; charset=utf-8"
    pages = {
        "/healthz": lambda: _probed(*told.health()),
        "/readyz": lambda: _probed(*told.readiness()),
        "/metrics": lambda: HttpAnswer(HTTPStatus.OK, generate_latest(registry), kind),
    }
    return serving(pages, port)


def _probed(is_well: bool, said: dict[str, object]) -> HttpAnswer:
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return HttpAnswer.of_json(status, said)
