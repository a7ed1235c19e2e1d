"""A job whose broker comes late, freezes and thaws: it waits, tells that it is not
ready, gets ready again, counts what it wrote, and writes its secrets nowhere."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request

import pytest
from frozen import frozen
from job_process import job_process
from topics import PASSWORD, USER, Topic

from arroyo_nb.cli import main
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.kafka.local import LocalBroker

WITHIN_S = 90
TABLE = (
    "CREATE TABLE {name} (id INT) WITH (connector = 'kafka', type = '{kind}', "
    "topic = '{topic}', bootstrap_servers = '{{{{ BROKER }}}}', format = 'json', "
    "'auth.type' = 'sasl', 'auth.mechanism' = 'PLAIN', "
    "'auth.protocol' = 'SASL_PLAINTEXT', "
    "'auth.username' = '{user}', 'auth.password' = '{{{{ SECRET }}}}'{more});\n"
)


def asked(port, page):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}{page}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def own():
    with LocalBroker({USER: PASSWORD}) as started:
        yield started


@pytest.mark.long("outages")
def test_a_frozen_broker_makes_a_job_unready(own, tmp_path, eventually, capsys):
    source, made = Topic(own, 1), Topic(own, 1)
    table = TABLE.format
    script = (
        table(name="a", kind="source", topic=source.name, user=USER,
              more=", 'source.offset' = 'earliest'")
        + table(name="b", kind="sink", topic=made.name, user=USER, more="")
        + "INSERT INTO b SELECT id FROM a;\n"
    )  # fmt: skip
    path = tmp_path / "job.yaml"
    path.write_text(JobSpec("frozen", script).text)
    env = {"BROKER": own.sasl_servers, "SECRET": PASSWORD}
    source.send(*({"id": number} for number in range(30)))

    own.stop()
    with job_process(path, "--port", "0", env=env) as job:
        port = job.event("serving")["port"]
        waiting = job.event("waiting")
        assert own.sasl_servers in waiting["error"]  # the address that was tried
        own.start()
        job.event("running")
        eventually(lambda: made.end() == 30, WITHIN_S)
        eventually(lambda: asked(port, "/readyz")[0] == 200, WITHIN_S)
        eventually(lambda: "rows_out_total{job=\"frozen\"} 30.0"
                   in asked(port, "/metrics")[1], 20)  # fmt: skip
        with frozen(own.pid):
            eventually(lambda: asked(port, "/readyz")[0] == 503, 40)
            told = json.loads(asked(port, "/readyz")[1])
            assert "has not answered for" in told["reasons"][0]
            assert asked(port, "/healthz")[0] == 200
            assert "arroyo_nb_broker_reachable{" in asked(port, "/metrics")[1]
            # It reads what the job notes once a second.
            eventually(lambda: main(["status", str(path), "--ready"]) == 1, 20)
        eventually(lambda: asked(port, "/readyz")[0] == 200, WITHIN_S)
        events = tmp_path / "state" / "frozen.events.jsonl"
        eventually(lambda: '"event": "ready"' in events.read_text(), WITHIN_S)
        pages = [asked(port, page)[1] for page in ("/healthz", "/readyz", "/metrics")]
        job.process.send_signal(signal.SIGTERM)
        job.event("job_ended")
        assert job.process.wait(WITHIN_S) == 143
    assert main(["logs", str(path)]) == 0
    said = capsys.readouterr().out
    assert " has not answered for " in said.partition("not ready: ")[2]
    assert "ready again" in said
    everything = [*pages, said, json.dumps(job.events)]
    everything += [
        file.read_bytes().decode("latin-1")
        for file in tmp_path.rglob("*")
        if file.is_file()
    ]
    assert len(everything) > 10
    assert not [text for text in everything if PASSWORD in text]
