"""What live panels cost, and how soon they show what has come.

Panels of real runs are refreshed as in a notebook, onto a stand-in that counts what it
is sent. What a person waits for is measured in a real kernel: ``1 + 1`` in a cell
beside five live ones. A stop is timed from the call to the end of the run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from typing import Any

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.run.run import Run
from arroyo_nb.session import Session
from arroyo_nb.views import live
from arroyo_nb.views.live import Data
from benchmarks.jobs import FILE_ROWS, FILES, make_events
from benchmarks.report import Report, main

RATES = (1_000, 10_000, 100_000, 1_000_000)
SHOWN_S, CELLS, ANSWERS, STOPS = 10.0, 5, 200, 100
WARM_UP, ROUNDS = 4, 40
FRAMES_A_SECOND = 1 / live.FRAME_S
FRAME_BYTES = 50_000
SAVED_BYTES = 64_000

STREAM = """
CREATE TABLE stream WITH (connector = 'impulse', event_rate = '{rate}');
SELECT tumble(INTERVAL '1 second') AS window, counter % 10 AS k, count(*) AS n
FROM stream GROUP BY window, k;
"""
FILE = """
CREATE TABLE events (
    k BIGINT, v BIGINT, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '10 seconds'
) WITH (connector = 'filesystem', path = '{folder}', type = 'source',
    format = 'parquet');
SELECT tumble(INTERVAL '10 seconds') AS window, k, count(*) AS n, sum(v) AS total
FROM events GROUP BY window, k;
"""


class Watched:
    """A run whose newest snapshot is known."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.newest: Snapshot | None = None
        self.took_s: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
        """The picture, noted with what it cost."""
        begun = time.perf_counter()
        self.newest = self._run.snapshot(rows, output)
        self.took_s.append(time.perf_counter() - begun)
        return self.newest


class CountingScreen:
    """A widget that nobody sees: it counts the frames that it is sent."""

    beats = False

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.arrived: Callable[[], None] = lambda: None
        self._frame = ""

    @property
    def frame(self) -> str:
        """The newest frame."""
        return self._frame

    @frame.setter
    def frame(self, frame: str) -> None:
        self._frame = frame
        self.sizes.append(len(frame.encode()))
        self.arrived()

    def view(self) -> Data:
        """The MIME bundle that shows it."""
        return {}

    def say_alive(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class CountingSlot:
    """An output that counts what it is given."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def update(self, data: Data) -> None:
        """Replace what it shows."""
        self.data = data

    @property
    def saved_bytes(self) -> int:
        """What a saved notebook has of it."""
        return sum(len(str(value).encode()) for value in self.data.values())


class CountingStage:
    """Where a panel is displayed."""

    busy = False

    def __init__(self) -> None:
        self.counted = CountingScreen()
        self.slots: list[CountingSlot] = []

    def show(self, data: Data) -> CountingSlot:
        """A new output."""
        self.slots.append(CountingSlot(data))
        return self.slots[-1]

    def screen(self, *_: object) -> CountingScreen:
        """The widget."""
        return self.counted


def show_rates(report: Report, session: Session) -> None:
    """Messages, bytes and the time of a frame, at several rates."""
    for rate in RATES:
        run = session.run(STREAM.format(rate=rate), name=f"rate {rate}")
        assert run is not None
        wait_for(lambda run=run: run.snapshot(0).rows_out > 0)
        watched, stage = Watched(run), CountingStage()
        lags: list[float] = []

        def note(watched: Watched = watched, lags: list[float] = lags) -> None:
            newest = watched.newest.max_event_time if watched.newest else None
            if newest is not None:
                now = datetime.now(UTC).replace(tzinfo=None)
                lags.append((now - newest).total_seconds() * 1000)

        stage.counted.arrived = note
        panel = live.show(watched, stage)
        begun, rows = time.perf_counter(), run.rows_in
        wait_for(lambda begun=begun: time.perf_counter() - begun >= SHOWN_S)
        seconds = time.perf_counter() - begun
        read = (run.rows_in - rows) / seconds
        sent = stage.counted.sizes
        run.stop().wait(30)
        panel.refresh()
        at = f"{rate:,} rows/s"
        report.add(f"{at}: read", read, "rows/s")
        frames = len(sent) / seconds
        report.add(f"{at}: frames", frames, "/s", target=FRAMES_A_SECOND + 0.5)
        report.add(f"{at}: bytes a frame", statistics.median(sent), "bytes",
                   target=FRAME_BYTES)  # fmt: skip
        report.add(f"{at}: bytes", sum(sent) / seconds, "bytes/s")
        took = sorted(watched.took_s)
        report.add(f"{at}: snapshot p50", 1e3 * statistics.median(took), "ms")
        saved = sum(slot.saved_bytes for slot in stage.slots)
        report.add(f"{at}: saved", saved, "bytes", target=SAVED_BYTES)
        if rate == 10_000 and lags:
            report.add(f"{at}: event to screen p50", statistics.median(lags), "ms")
            report.add(f"{at}: event to screen p99", percentile(lags, 99), "ms")


def compare_panel(report: Report, session: Session) -> None:
    """Rows a second of a cell with its panel, against the same query without counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_events(folder)
        script = FILE.format(folder=folder)

        def alone() -> float:
            run = session.run(script, name="alone", traced=False)
            assert run is not None
            assert run.wait(300)
            return run.running_s

        def shown() -> float:
            run = session.run(script, name="shown")
            assert run is not None
            live.show(run, CountingStage())
            assert run.wait(300)
            return run.running_s

        # The first one twice: how far apart two equal queries come is the noise.
        kinds = {"none": alone, "none again": alone, "panel": shown}
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for turn in range(WARM_UP + ROUNDS):
            order = [*kinds][turn % 3 :] + [*kinds][: turn % 3]
            for kind in order:
                times[kind].append(kinds[kind]())
        none, again, panel = (taken[WARM_UP:] for taken in times.values())
        took_s = fastest(panel)
        report.add("cell with panel", FILES * FILE_ROWS / took_s, "rows/s")
        itself = fastest(none) / fastest(again)
        report.add("the same query against itself", itself, "x")
        report.add("cell with panel against none", fastest(none + again) / took_s, "x",
                   target=0.97, at_most=False)  # fmt: skip


def fastest(taken: list[float]) -> float:
    """The mean of the fastest quarter: other work on the machine only adds to a
    time."""
    return statistics.mean(sorted(taken)[: len(taken) // 4])


def time_stops(report: Report, session: Session) -> None:
    """From stop to the end of the run."""
    took = []
    for _ in range(STOPS):
        run = session.run(STREAM.format(rate=1_000), name="stopped")
        assert run is not None
        wait_for(lambda run=run: run.rows_in > 0)
        begun = time.perf_counter()
        run.stop().wait(30)
        took.append(time.perf_counter() - begun)
    report.add("stop p50", statistics.median(took), "s")
    report.add(f"stop p99 of {STOPS}", percentile(took, 99), "s", target=0.5)


CELL = """
%%arroyo -n live{number}
CREATE TABLE s{number} WITH (connector = 'impulse', event_rate = '1000');
SELECT tumble(INTERVAL '1 second') AS window, counter % 10 AS k, count(*) AS n
FROM s{number} GROUP BY window, k;
""".strip()


def time_answers(report: Report) -> None:
    """``1 + 1`` in a kernel with live cells, and in one without."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    try:
        quiet = answers_ms(client)
        ask(client, "%load_ext arroyo_nb")
        # No page says that it is there, so that a panel would fall silent.
        ask(client, "from arroyo_nb.views import live; live.UNSEEN_S = 1e9")
        for number in range(CELLS):
            ask(client, CELL.format(number=number))
        ask(client, "import time; time.sleep(15)")
        beside = answers_ms(client)
        ask(client, "%arroyo stop --all")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
    report.add("1 + 1 alone p99", percentile(quiet, 99), "ms")
    report.add(f"1 + 1 beside {CELLS} live cells p50", statistics.median(beside), "ms")
    report.add(f"1 + 1 beside {CELLS} live cells p99", percentile(beside, 99), "ms",
               target=50)  # fmt: skip


def answers_ms(client: Any) -> list[float]:
    """How long the kernel takes for an answer, again and again."""
    took = []
    for _ in range(ANSWERS):
        begun = time.perf_counter()
        ask(client, "1 + 1")
        took.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.02)
    return took


def ask(client: Any, code: str, within_s: float = 120) -> None:
    """Execute a cell, with a person beside it, and wait for its reply."""
    asked = client.execute(code, allow_stdin=True)
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            reply = client.get_shell_msg(timeout=1)
        except Empty:
            continue
        if reply["parent_header"].get("msg_id") == asked:
            assert reply["content"]["status"] == "ok", reply["content"]
            return
    raise TimeoutError(code)


def wait_for(condition: Callable[[], bool], within_s: float = 120) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def percentile(values: list[float], percent: int) -> float:
    """The value that so many of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]


def measure(report: Report) -> None:
    """All of them, one after the other."""
    with Session() as session:
        session.engine.worker.call(lambda: session.engine.session)
        show_rates(report, session)
        compare_panel(report, session)
        time_stops(report, session)
    time_answers(report)


if __name__ == "__main__":
    sys.exit(main(measure))
