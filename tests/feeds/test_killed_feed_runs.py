"""A run that is killed goes on behind the last event that it has: none is missing, and
none comes twice."""

import json
import subprocess
import sys
import time

import pytest
from feed_servers import HttpServer, begin_events, free_port
from seeds import random_of_the_day

JOB = """
import sys
from arroyo_nb import Session
folder, script = sys.argv[1:]
with Session(state_dir=folder) as session:
    session.run(script, name="job", wait=True)
"""
SCRIPT = """
CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'sse', endpoint = '{url}',
  format = 'json');
CREATE TABLE kept (n BIGINT) WITH (connector = 'single_file', type = 'sink',
  format = 'json', path = '{path}');
INSERT INTO kept SELECT n FROM numbers
"""


def steady(handler):
    """Events behind the last one, a hundred in a tenth of a second, for ever."""
    number = int(handler.headers.get("Last-Event-ID", "0"))
    begin_events(handler)
    while True:
        events = (
            b'id: %d\ndata: {"n": %d}\n\n' % (n, n)
            for n in range(number + 1, number + 101)
        )
        handler.wfile.write(b"".join(events))
        number += 100
        time.sleep(0.1)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(
    "kills", [1, pytest.param(6, marks=pytest.mark.long("feeds"))], ids=str
)
def test_each_event_is_written_once_over_kills(kills, session, tmp_path, eventually):
    path, port = tmp_path / "kept.json", free_port()
    moments = random_of_the_day("killed feeds")
    script = SCRIPT.format(url=f"http://127.0.0.1:{port}", path=path)
    with HttpServer(steady, port) as server:
        for _ in range(kills):
            goal = len(lines(path)) + 200
            command = [sys.executable, "-c", JOB, str(tmp_path), script]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as job:
                eventually(lambda more=goal: len(lines(path)) >= more, 120, 0.1)
                time.sleep(moments.uniform(0, 0.3))
                job.kill()
        # Its last life is in this process.
        goal = len(lines(path)) + 200
        run = session.run(script, name="job", state_dir=tmp_path)
        eventually(lambda: run.state.ended or len(lines(path)) >= goal, 120, 0.1)
        assert run.stop().wait(60)
    # The last line may have been cut by the stop; those of the kills were mended.
    text = path.read_text()
    found = [json.loads(line)["n"] for line in text[: text.rfind("\n")].splitlines()]
    assert found == list(range(1, len(found) + 1))
    assert len(found) >= 200 * (kills + 1) - 1
    asked = [request.headers["Last-Event-ID"] for request in server.requests]
    assert len(asked) == kills + 1
    assert asked[0] is None
    assert all(asked[1:])
