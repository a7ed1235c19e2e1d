"""A JVM and kernels that die, in every way, while rows flow.

One kernel goes through all that it survives before it is killed itself: a start of
Spark takes seconds.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from kernels import (
    LOAD,
    SESSION,
    START_S,
    Kernel,
    alive,
    descendants,
    started,
    wait_until,
)
from machine import allowed
from sockets import listeners, off_loopback

from arroyo_nb.engine.class_data import archive_for
from arroyo_nb.engine.folders import default_base
from arroyo_nb.engine.java import find_java

GONE_S = 3.0
TOLD_S = 5.0

SPEED = 240_000
"""Some ten micro-batches, a quarter of a second apart."""

CAUGHT_SPEED = 30_000
"""Twenty seconds: it does not end before something happens to it."""

# A watermark so patient that no row is late, whatever the moments of the batches.
FLIGHTS = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '2 days')
WITH (connector = 'sample', dataset = 'flights');
"""
TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1000');"
BY_HOUR = """
SELECT hop(INTERVAL '1 hour', INTERVAL '2 hours') AS w, origin, count(*) AS n
FROM flights GROUP BY w, origin
"""
JOB = """
CREATE TABLE out WITH (
    connector = 'single_file', path = '{path}', type = 'sink', format = 'json');
INSERT INTO out {query}
"""
ROWS = "sorted(map(str, {}.table().to_pylist()))"
LIVE = "%%arroyo live << --no-wait\nSELECT counter, counter * 2 AS twice FROM ticks"

WORKERS = """
def work():
    spark = session.engine.session
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    mapped = rows.mapInArrow(lambda batches: batches, rows.schema)
    return mapped.writeStream.format("noop").start()
workers = session.engine.worker.call(work)
"""
BUILDER = """
from arroyo_nb.engine import class_data
from arroyo_nb.engine.java import find_java
class_data.archive_for(find_java()).discard()
builder = class_data.start_builder()
print(builder.pid)
"""


def begin(kernel: Kernel) -> Kernel:
    kernel.run(LOAD)
    kernel.run(SESSION)
    kernel.run(f"%%arroyo\n{FLIGHTS}{TICKS}")
    return kernel


def own_cache(folder: Path) -> str:
    """A cache to be written to, in which no kernel makes an archive by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARROYO_NB_CACHE", str(folder))
        archive_for(find_java()).failed.write_text("left to the tests")
    return str(folder)


@pytest.fixture(scope="module")
def kernel(start: Callable[..., Kernel], tmp_path_factory: pytest.TempPathFactory):
    return begin(start(ARROYO_NB_CACHE=own_cache(tmp_path_factory.mktemp("cache"))))


def jvm(kernel: Kernel) -> int:
    return kernel.value("session.engine.pid")


def flowing(kernel: Kernel, name: str = "live", rows: int = 1) -> None:
    wait_until(lambda: kernel.value(f"{name}.rows_in") >= rows, "no rows", START_S)


@pytest.fixture(scope="module")
def calm(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What an undisturbed run writes and keeps."""
    path = tmp_path_factory.mktemp("calm") / "out.json"
    script = JOB.format(query=BY_HOUR, path=path)
    kernel.run(f"%%arroyo calm << --wait --sinks --speed {SPEED}\n{script}")
    return sorted(path.read_text().splitlines())


@pytest.mark.long("notebooks")
def test_a_dead_jvm_is_told_replaced_and_its_run_resumed(
    kernel: Kernel, calm: list[str], record_property: Callable[[str, object], None]
) -> None:
    assert len(calm) == kernel.value("calm.table().num_rows") > 300
    kernel.run(f"%%arroyo hurt << --no-wait --speed {CAUGHT_SPEED}\n{BY_HOUR}")
    flowing(kernel, "hurt", 500)
    os.kill(jvm(kernel), signal.SIGKILL)
    told_s = wait_until(
        lambda: kernel.value("hurt.state.value") == "failed",
        "it still runs",
        allowed(TOLD_S),
    )
    record_property("told_s", told_s)
    error = kernel.value("str(hurt.snapshot().error)")
    assert error.startswith("the engine died")
    assert "%arroyo resume hurt" in error
    assert len(error.splitlines()) == 2
    touched = kernel.execute("hurt.table()")
    assert touched.traceback == error
    before = kernel.value("hurt.rows_in")

    small = "SELECT flight FROM flights WHERE origin = 'EWR' AND dep_delay > 100"
    kernel.run(f"%%arroyo after << --wait\n{small}")
    assert kernel.value("after.state.value") == "finished"

    kernel.run("%arroyo resume hurt")
    kernel.run("hurt = session.get('hurt')\nhurt.wait(200)")
    assert kernel.value("hurt.state.value") == "finished"
    assert 0 < before < kernel.value("calm.rows_in")
    assert kernel.value(ROWS.format("hurt")) == kernel.value(ROWS.format("calm"))


def python_workers(kernel: Kernel) -> list[int]:
    """The daemon of Spark's Python workers, and the workers."""
    found = []
    for pid in kernel.family():
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text()
            found += [pid] * ("spark.daemon" in command)
    return found


def test_every_socket_is_on_loopback(kernel: Kernel) -> None:
    kernel.run(WORKERS)
    kernel.run(LIVE)
    flowing(kernel)
    wait_until(lambda: len(python_workers(kernel)) >= 2, "no Python worker", 60)
    family = kernel.family()
    assert off_loopback(family) == []
    assert len(listeners(descendants([jvm(kernel)]))) >= 2  # the gateway, Spark's own


def work_folders(pid: int) -> list[Path]:
    return list(Path("/tmp").glob(f"arroyo_nb-{pid}-*"))


def test_nothing_outlives_kill_9_and_its_folders_are_swept(
    kernel: Kernel, start: Callable[..., Kernel], tmp_path: Path
) -> None:
    assert kernel.value("live.state.value") == "running"
    builder = int(kernel.run(BUILDER).text)
    wait_until(lambda: len(descendants([builder])) > 1, "no JVM of the builder", 30)
    assert len(python_workers(kernel)) >= 2
    members = kernel.family() | started(descendants([builder]))
    assert len(members) >= 6
    folders = work_folders(kernel.pid)
    assert len(folders) >= 2  # the engine's and the runs'
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    pid = kernel.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(members), f"{alive(members)} live on", allowed(GONE_S))

    begin(start(ARROYO_NB_CACHE=own_cache(tmp_path)))
    wait_until(lambda: not work_folders(pid), "the folders are not swept", START_S)


RUN_JOB = """
job = session.run({sql!r}, name="job", state_dir={state!r}, speed={speed})
"""


@pytest.fixture
def job(tmp_path: Path) -> Callable[[float], str]:
    def cell(speed: float) -> str:
        sql = FLIGHTS + JOB.format(query=BY_HOUR, path=tmp_path / "out.json")
        return RUN_JOB.format(sql=sql, state=str(tmp_path / "state"), speed=speed)

    return cell


def finished(kernel: Kernel) -> None:
    assert kernel.value("job.wait(200)"), "it is not at its end in time"
    assert kernel.value("job.state.value") == "finished"


@pytest.mark.long("notebooks")
def test_state_outlives_restart_and_sigterm_and_has_one_owner(
    start: Callable[..., Kernel],
    job: Callable[[float], str],
    calm: list[str],
    tmp_path: Path,
) -> None:
    owner = begin(start())
    owner.run(job(CAUGHT_SPEED))
    flowing(owner, "job")
    members = {p: s for p, s in owner.family().items() if p != owner.pid}
    owner.manager.restart_kernel()
    wait_until(
        lambda: not alive(members), "its JVM outlives a restart", allowed(GONE_S)
    )
    owner.client.wait_for_ready(timeout=60)

    begin(owner).run(job(CAUGHT_SPEED))
    flowing(owner, "job", 600)
    owner.run("job.pause()")
    rival = begin(start())
    rival.run(job(SPEED))
    refused = rival.execute("job.wait()")
    assert refused.error == "RunProblem"
    assert f"is in use by run 'job' of process {owner.pid}" in refused.traceback
    assert owner.value("job.state.value") == "running"

    members = owner.family()
    os.kill(owner.pid, signal.SIGTERM)
    wait_until(lambda: not alive(members), "it outlives SIGTERM", allowed(GONE_S))
    assert not [*default_base().glob(f"arroyo_nb-{owner.pid}-*")]
    rival.run(job(SPEED))
    finished(rival)
    assert rival.value("job.rows_in") < 6000
    assert sorted((tmp_path / "out.json").read_text().splitlines()) == calm
