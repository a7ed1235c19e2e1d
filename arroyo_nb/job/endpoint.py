"""What a job says of itself over HTTP, on loopback only: its health, its metrics.

``/healthz`` answers 200 while the job starts or runs, and 503 while it waits to begin
again and once it has ended; the body is a JSON object with its state and its last
error. ``/metrics`` is Prometheus's text format, by its own client library.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, TypeVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from arroyo_nb.errors import RunProblem
from arroyo_nb.job.supervisor import JobState
from arroyo_nb.run.snapshot import before_end

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
    )

    from arroyo_nb.job.supervisor import Supervisor
    from arroyo_nb.run.run import Run
    from arroyo_nb.run.snapshot import Snapshot

    M = TypeVar("M", CounterMetricFamily, GaugeMetricFamily)

HOST = "127.0.0.1"
HEALTHY = (JobState.STARTING, JobState.RUNNING)


class Told:
    """What the endpoint says: looked at anew at each question, from its threads.

    Parameters
    ----------
    job
        Its name, a label of every metric.
    supervisor
        Of the job.
    """

    def __init__(self, job: str, supervisor: Supervisor[Run]) -> None:
        self._job = job
        self._supervisor = supervisor

    def health(self) -> tuple[bool, dict[str, object]]:
        """Whether it is well, and what is said of it."""
        state, error = self._supervisor.state, self._supervisor.error
        said: dict[str, object] = {"job": self._job, "state": state.value}
        said["restarts"] = self._supervisor.restarted
        if error is not None:
            said["error"] = str(error)
        return state in HEALTHY, said

    def collect(self) -> Iterable[Metric]:
        """The metrics, as a collector of Prometheus's client gives them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        up = self._supervisor.state is JobState.RUNNING
        yield self._one(GaugeMetricFamily, "up", "Whether its queries run.", up)
        restarts = self._supervisor.restarted
        text = "How often it began again."
        yield self._one(CounterMetricFamily, "restarts", text, restarts)
        if self._supervisor.run is None:
            return
        picture = self._supervisor.run.snapshot(0)
        for name, text, value in _counts(picture):
            yield self._one(CounterMetricFamily, name, text, value)
        for name, text, level in _levels(picture):
            if level is not None:
                yield self._one(GaugeMetricFamily, name, text, level)
        lag = GaugeMetricFamily(
            "arroyo_nb_lag_records", "Records that are still to be read.",
            labels=["job", "source", "partition"],
        )  # fmt: skip
        for source in picture.sources:
            for part in source.partitions:
                lag.add_metric([self._job, source.name, str(part.number)], part.lag)
        yield lag

    def _one(self, kind: type[M], name: str, text: str, value: float) -> M:
        made = kind(f"arroyo_nb_{name}", text, labels=["job"])
        made.add_metric([self._job], value)
        return made


def _counts(picture: Snapshot) -> Iterator[tuple[str, str, int]]:
    yield "rows_in", "Rows read since it last began.", picture.rows_in
    yield "rows_out", "Rows written since then.", picture.rows_out
    yield "late_rows", "Rows that came too late.", picture.late_rows


def _levels(picture: Snapshot) -> Iterator[tuple[str, str, float | None]]:
    """Those that may not be known yet."""
    took, mark = picture.batch_ms, before_end(picture.watermark)
    yield "batch", "Number of the newest micro-batch.", picture.batch_id
    yield "batch_seconds", "How long that took.", took and took / 1000
    at = None if mark is None else mark.replace(tzinfo=UTC).timestamp()
    yield "watermark_timestamp_seconds", "Its watermark.", at


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: standard error has the job's events."""


@contextmanager
def served(told: Told, port: int) -> Iterator[int]:
    """Answer while it is held; gives the port, also where 0 asked for a free one.

    Raises
    ------
    RunProblem
        When the port is taken, or Prometheus's client is not installed.
    """
    app = _application(told)
    try:
        server = make_server(HOST, port, app, _Server, _Quiet)
    except OSError as error:
        raise RunProblem(
            f"nothing can be served at port {port}: {error.strerror}",
            hint="choose another port; 0 takes a free one",
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="endpoint", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _application(told: Told) -> Callable[..., Iterable[bytes]]:
    try:
        from prometheus_client import CollectorRegistry, make_wsgi_app
    except ImportError:
        raise RunProblem(
            "the metrics of a job need the package prometheus-client",
            hint="pip install 'arroyo-nb[job]'",
        ) from None
    registry = CollectorRegistry()
    registry.register(told)
    metrics: Callable[..., Iterable[bytes]] = make_wsgi_app(registry)

    def answer(asked: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match asked.get("PATH_INFO"):
            case "/metrics":
                return metrics(asked, start)
            case "/healthz":
                well, said = told.health()
                start(
                    "200 OK" if well else "503 Service Unavailable",
                    [("Content-Type", "application/json")],
                )
                return [json.dumps(said).encode()]
            case _:
                start("404 Not Found", [("Content-Type", "text/plain")])
                return [b"/healthz or /metrics\n"]

    return answer
