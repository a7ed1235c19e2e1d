"""A job whose system's clock is set by an hour, forward and back, while it runs."""

import json
import shutil
import signal
import struct
import subprocess
import sys
import time
import urllib.request
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from job_process import job_process

from arroyo_nb.cli import main
from arroyo_nb.jobs.spec import JobSpec

WITHIN_S = 120
HOUR_S = 3600
SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 20);
CREATE TABLE counts WITH (connector = 'single_file', path = '{out}', type = 'sink',
    format = 'json');
INSERT INTO counts
SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM ticks GROUP BY w;
"""


class Clock:
    """A time of day that can be set, of processes that have ``variables``."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler")
        source, library = Path(__file__).parents[1] / "set_clock.c", folder / "clock.so"
        command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        self._offset = folder / "offset"
        self._offset.write_bytes(bytes(8))
        self.variables = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set_by(self, seconds: int) -> None:
        # In place: the processes have mapped it.
        with self._offset.open("r+b") as file:
            file.write(struct.pack("q", seconds))


def metric(port, name):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(n.split()[-1]) for n in lines if n.startswith(f"{name}{{"))


@pytest.mark.skipif(sys.platform != "linux", reason="by what Linux loads first")
@pytest.mark.long("paths")
def test_a_job_goes_on_when_the_clock_is_set(tmp_path, eventually):
    clock, out, spec = Clock(tmp_path), tmp_path / "out.json", tmp_path / "job.yaml"
    spec.write_text(JobSpec("clocks", SCRIPT.format(out=out)).text)

    def windows():
        return out.read_text().count("\n") if out.exists() else 0

    began_s = time.monotonic()
    with job_process(spec, "--port", "0", env=clock.variables) as job:
        port = job.event("serving")["port"]
        job.event("running")
        eventually(lambda: windows() >= 3, WITHIN_S)
        for set_by_s in (HOUR_S, 0, -HOUR_S):
            clock.set_by(set_by_s)
            wanted = windows() + 4
            eventually(lambda n=wanted: windows() >= n, WITHIN_S)
        # By which it is known how long no batch may end while there is work.
        took_s = metric(port, "arroyo_nb_batch_duration_seconds_sum")
        assert 0 < took_s < 2 * (time.monotonic() - began_s) + 60
        eventually(lambda: main(["status", str(spec), "--ready"]) == 0, WITHIN_S)
        job.process.send_signal(signal.SIGTERM)
        job.event("job_ended")
        assert job.process.wait(WITHIN_S) == 143
    # Each second once, none of another hour; those of one batch come in any order.
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    found = sorted((datetime.fromisoformat(r["w"]["start"]), r["n"]) for r in rows)
    (first, _), *whole = found
    seconds = [first + timedelta(seconds=n) for n in range(1, len(found))]
    assert whole == [(second, 20) for second in seconds]
