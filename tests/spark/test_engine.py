"""The engine against a real JVM, each test in a kernel process of its own.

Engines are killed here, and PySpark has one Spark per process: a test in this process
would end the JVM that the other tests share.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from machine import allowed

from arroyo_nb.engine.class_data import archive_for
from arroyo_nb.engine.folders import process_start
from arroyo_nb.engine.java import find_java

START_S = 120
GONE_S = 3


class Kernel:
    """A Python process that runs a script and answers in lines of JSON."""

    def __init__(self, script: str, folder: Path) -> None:
        file = folder / "kernel.py"
        file.write_text(_PRELUDE + script, encoding="utf-8")
        # An archive halves a start. Where there is none, none is made meanwhile.
        is_made = archive_for(find_java()).exists
        archive = {} if is_made else {"ARROYO_NB_ARCHIVE": "off"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | archive | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def answer(self) -> Any:
        """The next line; what it wrote to stderr when there is none."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate(timeout=START_S)
            pytest.fail(f"the kernel ended: {errors}")
        return json.loads(line)

    def end(self) -> str:
        """Wait for its end; gives what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=START_S)
        assert self.process.returncode == 0, errors
        return errors


_PRELUDE = """
import json, os, signal, sys, threading, time
from pathlib import Path
from arroyo_nb.engine import Engine, EngineProblem

def answer(value):
    print(json.dumps(value), flush=True)

def processes():
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    return parents

def family(pid):
    parents = processes()
    found = [pid]
    for member in found:
        found += [child for child, parent in parents.items() if parent == member]
    return found

def streaming(spark):
    # Python workers: a stream of rows through mapInArrow, without end.
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    mapped = rows.mapInArrow(lambda batches: batches, rows.schema)
    return mapped.writeStream.format("noop").start()

def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found

def with_a_worker(members):
    # What is asked a second time may be fewer: a worker that nobody needs ends.
    return members if len(members) > 2 else None
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Callable[[str], Kernel]]:
    made: list[Kernel] = []

    def make(script: str) -> Kernel:
        made.append(Kernel(script, tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()


def are_gone(members: dict[int, int | None]) -> bool:
    # A pid that was reused has another start.
    return all(
        process_start(pid) != start or _is_zombie(pid) for pid, start in members.items()
    )


def _is_zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def assert_gone_in_time(members: dict[int, int | None]) -> None:
    deadline = time.monotonic() + allowed(GONE_S)
    while not are_gone(members):
        left = [pid for pid in members if not are_gone({pid: members[pid]})]
        assert time.monotonic() < deadline, f"alive after {GONE_S} s: {left}"
        time.sleep(0.02)


_STREAM = """
engine = Engine()
query = engine.worker.call(lambda: streaming(engine.session))
answer(wait_until(lambda: with_a_worker(family(engine.pid)), "no Python worker"))
"""


def test_nothing_outlives_a_kernel_that_is_told_to_end(
    kernel: Callable[[str], Kernel],
) -> None:
    """That kill -9 leaves nothing either is tested with a kernel of Jupyter's."""
    started = kernel(_STREAM + "threading.Event().wait()")
    pids = started.answer()
    members = {pid: process_start(pid) for pid in pids}
    assert len(members) >= 3  # the JVM, the daemon of the workers, a worker
    started.process.send_signal(signal.SIGTERM)
    started.process.wait()
    assert_gone_in_time(members)


_LISTENERS = """
def listeners():
    inodes = set()
    for pid in family(os.getpid()):
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            # 0A is LISTEN; a UDP socket that nobody has connected is 07.
            if fields[3] in ("0A", "07") and fields[9] in inodes:
                yield table, fields[1].split(":")[0]

engine.worker.call(lambda: streaming(engine.session))
wait_until(lambda: len(family(engine.pid)) > 2, "no Python worker")
answer(list(listeners()))
"""

# As /proc writes them: 127.0.0.1, and the same as an IPv6 address; ::1.
_LOOPBACK = {
    "0100007F",
    "0000000000000000FFFF00000100007F",
    "00000000000000000000000001000000",
}

_INTERRUPTS = """
sleep = "select java_method('java.lang.Thread', 'sleep', 20L)"
interrupted = threading.Event()

def slow():
    while not interrupted.is_set():
        engine.session.sql(sleep).collect()

took = []
for _ in range(20):
    interrupted.clear()
    started = time.monotonic()
    interrupt = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        interrupt.start()
        engine.worker.call(slow)
    except KeyboardInterrupt:
        took.append(time.monotonic() - started)
    interrupted.set()
    assert engine.worker.call(lambda: engine.session.range(3).count()) == 3
answer([len(took), max(took), engine.restarts])
"""

_DEATHS = """
old = engine.worker.call(lambda: engine.session)
sleep = "select java_method('java.lang.Thread', 'sleep', 60000L)"
for in_a_call in (True, False):
    slow = None
    if in_a_call:
        slow = engine.worker.post(lambda: engine.session.sql(sleep).collect())
    if slow is not None:
        wait_until(slow.running, "the call has not begun")
    os.kill(engine.pid, signal.SIGKILL)
    wait_until(lambda: not engine.alive, "still alive", 5)
    assert engine.status == "died", engine.status
    if slow is not None:
        assert slow.exception(10) is not None
    answer([engine.worker.call(count), engine.restarts])
answer(events)
answer(engine.worker.call(lambda: engine.session is not old))
"""

_LIFE = f"""
events = []
engine = Engine(on_event=lambda event: events.append(event.kind))
count = lambda: engine.session.range(5).count()
engine.worker.call(count)
{_LISTENERS}
{_INTERRUPTS}
{_DEATHS}
query = engine.worker.call(lambda: streaming(engine.session))
answer(wait_until(lambda: with_a_worker(family(engine.pid)), "no Python worker"))
"""


def test_the_life_of_an_engine(kernel: Callable[[str], Kernel]) -> None:
    started = kernel(_LIFE)
    # Every listener is on loopback.
    found = started.answer()
    assert len(found) >= 2  # the gateway and Spark's own
    assert {address for _, address in found} <= _LOOPBACK
    # An interrupt leaves the gateway whole.
    times, longest_s, restarts = started.answer()
    assert (times, restarts) == (20, 0)
    assert longest_s < allowed(1)
    # A dead JVM is replaced.
    assert started.answer() == [5, 1]
    assert started.answer() == [5, 2]
    starts = ["starting", "starting", "ready"]
    assert started.answer() == [*starts, "died", *starts, "died", *starts]
    assert started.answer() is True
    # A kernel that ends by itself ends quietly.
    members = {pid: process_start(pid) for pid in started.answer()}
    assert started.end() == ""
    assert_gone_in_time(members)


_TWO_AT_ONCE = """
first, second = Engine(), Engine()
first.warm_up()
count = lambda engine: engine.worker.call(lambda: engine.session.range(5).count())
answer([count(second), count(first)])
answer([engine.pid is not None for engine in (first, second)].count(True))
owner, other = sorted((first, second), key=lambda engine: engine.pid is None)
owner.close()
answer([count(other), other.pid is not None])
first, second = Engine(), Engine()
answer([count(first), count(second)])
os.kill(other.pid, signal.SIGKILL)
wait_until(lambda: not other.alive, "alive")
answer([[count(first), count(other), count(second)] for _ in range(3)])
answer([engine.restarts for engine in (first, other, second)])
first.close()
second.close()
other.close()
"""


def test_of_two_engines_that_start_at_once_one_starts_spark(
    kernel: Callable[[str], Kernel],
) -> None:
    started = kernel(_TWO_AT_ONCE)
    assert started.answer() == [5, 5]
    assert started.answer() == 1
    assert started.answer() == [5, True]
    # Beside the one that is still there; and when its Java has died, each finds what
    # the other has started, and ends nothing of it.
    assert started.answer() == [5, 5]
    assert started.answer() == [[5, 5, 5]] * 3
    assert started.answer() == [1, 2, 1]
    assert started.end() == ""


_GIVEN = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config(
    "spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config(
    "spark.driver.host", "127.0.0.1").config(
    "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "Europe/Rome")
spark.range(1).createOrReplaceTempView("mine")
settings = lambda: {row.key: row.value for row in spark.sql("set -v").collect()}
before = settings()
engine = Engine(spark)
engine.warm_up()
zone = lambda: engine.session.conf.get("spark.sql.session.timeZone")
views = lambda: engine.session.catalog.tableExists("mine")
answer([engine.worker.call(zone), engine.worker.call(views), engine.alive])
answer(SparkSession.getActiveSession() is spark and SparkSession.active() is spark)
from arroyo_nb.session import Session
table = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 9, message_count = 3)"
for name in ("a:b", "a:b/[1]"):
    run = Session(engine=engine).run(
        f"{table}; SELECT counter FROM t", state_dir=Path.cwd() / name)
    run.wait_quietly(120)
    answer([run.state.value, run.rows_in, str(run.error or "")])
windows = "SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM t GROUP BY w"
run = Session(engine=engine).run(f"{table}; {windows}")
run.wait_quietly(120)
bars = run.windows().to_pylist()
answer([sum(bar["rows"] for bar in bars), run.snapshot().exact])
engine.close()
answer(settings() == before)
answer(spark.sql("select count(*) n from mine").first().n)
# Without one handed in, the Spark of this process is found.
handed, engine = Engine(spark), Engine()
handed.worker.call(lambda: handed.session)
count = lambda: engine.session.range(2).count()
answer([engine.worker.call(count), engine.pid])
spark.stop()
answer([handed.died(), engine.died()])
try:
    handed.worker.call(lambda: handed.session)
except EngineProblem as error:
    answer(str(error))
# Nobody handed that one in: it goes on with a JVM of its own.
jvm = lambda: engine.session._jvm.java.lang.ProcessHandle.current().pid()
answer([engine.worker.call(count), engine.worker.call(jvm) == engine.pid])
handed.close()
engine.close()
"""


def test_a_session_that_is_handed_in_is_left_alone(
    kernel: Callable[[str], Kernel],
) -> None:
    started = kernel(_GIVEN)
    assert started.answer() == ["UTC", False, True]
    assert started.answer() is True
    assert started.answer() == ["finished", 3, ""]
    state, _, error = started.answer()
    assert state == "failed"
    assert "a:b/[1]/" in error
    assert "its path has a ':' and one of \\ { } [ ] * ?, " in error
    assert "name another folder" in error
    assert started.answer() == [3, True]  # of whose rows Spark makes a histogram
    assert started.answer() is True
    assert started.answer() == 1
    assert started.answer() == [2, None]
    assert started.answer() == ["its SparkSession was stopped"] * 2
    assert "has been stopped" in started.answer()
    assert started.answer() == [2, True]


_ARCHIVE = """
os.environ["ARROYO_NB_CACHE"] = str(Path.cwd() / "cache")
from arroyo_nb.engine import class_data
builder = class_data.start_builder()
wait_until(lambda: len(family(builder.pid)) > 1, "no JVM")
answer(family(builder.pid))
threading.Event().wait()
"""


def test_making_an_archive_ends_with_the_kernel_and_is_no_failure(
    kernel: Callable[[str], Kernel], tmp_path: Path
) -> None:
    started = kernel(_ARCHIVE)
    members = {pid: process_start(pid) for pid in started.answer()}
    started.process.kill()
    started.process.wait()
    assert_gone_in_time(members)
    left = sorted(path.suffix for path in (tmp_path / "cache").iterdir())
    assert left == [".jar", ".jar", ".lock"]


_BROKEN_ARCHIVE = """
os.environ["ARROYO_NB_CACHE"] = str(Path.cwd() / "cache")
from arroyo_nb.engine.class_data import archive_for
from arroyo_nb.engine.java import find_java
broken = archive_for(find_java())
broken.path.parent.mkdir(mode=0o700, exist_ok=True)
broken.path.write_bytes(b"no archive" * 1000)
broken.path.chmod(0o600)
engine = Engine()
answer(engine.worker.call(lambda: engine.session.range(4).count()))
engine.close()
"""


@pytest.mark.long("damages")
def test_a_broken_archive_does_not_keep_spark_from_starting(
    kernel: Callable[[str], Kernel],
) -> None:
    started = kernel(_BROKEN_ARCHIVE)
    assert started.answer() == 4
    assert started.end() == ""
