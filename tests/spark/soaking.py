"""A process of many short runs that tells, a JSON line at a time, what it holds.

``python tests/spark/soaking.py FOLDER RUNS EVERY``: so many runs, and a line after each
so many of them.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from arroyo_nb import Session

SOFT_LIMIT = 256
"""Descriptors of a process on macOS, where nobody asked for more."""

ROWS = 60
NUMBERS = """
CREATE TABLE numbers (n BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH (connector = 'single_file', path = '{rows}', format = 'json', type = 'source');
"""
SINK = """
CREATE TABLE found (n BIGINT NOT NULL)
WITH (connector = 'single_file', path = '{sink}', format = 'json', type = 'sink');
"""
QUERIES = (
    "SELECT n, n * 2 AS twice FROM numbers WHERE n % 3 = 0",
    "SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM numbers GROUP BY w",
    "SELECT n % 5 AS k, count(*) AS n FROM numbers GROUP BY n % 5",
    SINK + "INSERT INTO found SELECT n FROM numbers WHERE n > 30",
)


@dataclass(frozen=True)
class Held:
    """What the process and its JVM hold after so many runs.

    ``seconds`` and ``cpu_seconds`` are of each of the runs since the line before;
    ``state_files`` are those of state that Spark has open, ten seconds longer than it
    is needed, and which are not among ``jvm_descriptors``.
    """

    runs: int
    seconds: float
    cpu_seconds: float
    python_threads: int
    python_descriptors: int
    python_mib: float
    jvm_threads: int
    jvm_descriptors: int
    state_files: int
    jvm_mib: float
    heap_mib: float
    processes: int
    files: int


def main(folder: Path, runs: int, every: int) -> None:
    """Do the runs, and tell."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_LIMIT, hard))
    source, sink = folder / "rows.json", folder / "found.json"
    source.write_text("".join(rows()))
    with Session() as session:
        begun_s, begun_cpu_s = time.monotonic(), 0.0
        for number, query in zip(range(1, runs + 1), itertools.cycle(QUERIES)):
            script = (NUMBERS + query).format(rows=source, sink=sink)
            # Every other one replaces an earlier one of its name.
            name = f"kept_{number % 7}" if number % 2 else f"own_{number}"
            session.run(script, name=name, wait=True)
            if number % every == 0:
                now_s, now_cpu_s = time.monotonic(), _cpu_s(_family(os.getpid()))
                held = _held(
                    session,
                    number,
                    (now_s - begun_s) / every,
                    (now_cpu_s - begun_cpu_s) / every,
                )
                print(json.dumps(asdict(held)), flush=True)
                begun_s = time.monotonic()
                begun_cpu_s = _cpu_s(_family(os.getpid()))


def rows() -> Iterator[str]:
    for n in range(ROWS):
        yield json.dumps({"n": n, "at": f"2026-01-01T00:00:{n:02d}Z"}) + "\n"


def _held(session: Session, runs: int, seconds: float, cpu_seconds: float) -> Held:
    engine = session.engine
    jvm = engine.pid
    assert jvm is not None
    assert session._runs.work is not None
    assert engine._work is not None
    heap_mib = engine.worker.call(_heap_mib, session)
    _until_threads_end()
    of_jvm = _descriptors(jvm)
    of_state = [name for name in of_jvm if "StateStoreId" in name]
    return Held(
        runs=runs,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        python_threads=threading.active_count(),
        python_descriptors=len(_descriptors(os.getpid())),
        python_mib=_resident_mib(os.getpid()),
        jvm_threads=len(list(Path(f"/proc/{jvm}/task").iterdir())),
        jvm_descriptors=len(of_jvm) - len(of_state),
        state_files=len(of_state),
        jvm_mib=_resident_mib(jvm),
        heap_mib=heap_mib,
        processes=len(_family(jvm)),
        files=_files(session._runs.work) + _files(engine._work),
    )


def _until_threads_end() -> None:
    """Let threads that are about to end do so; those that leaked are still there."""
    before, deadline = 0, time.monotonic() + 5
    settled = 0
    while settled < 10 and time.monotonic() < deadline:
        now = threading.active_count()
        settled = settled + 1 if now == before else 0
        before = now
        time.sleep(0.02)


def _heap_mib(session: Session) -> float:
    """What is live in the JVM."""
    jvm = session.engine.session._jvm
    assert jvm is not None
    # What the first collection finalizes goes with the second one.
    for _ in range(2):
        jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def _descriptors(pid: int) -> Sequence[str]:
    """What a process has open, each by its path or kind."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:  # closed meanwhile
            continue
    return found


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))


def _family(pid: int) -> Sequence[int]:
    """A process and all below it."""
    below = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has just ended
            continue
        below[int(parent)].append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += below[one]
    return found


def _cpu_s(pids: Sequence[int]) -> float:
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Its own, and that of children which have ended.
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
