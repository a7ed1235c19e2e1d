"""The secrets of a job that is connected in every way: none of them, in any spelling,
is in a file that is made for it or by it, on a page, in a line or in a process list."""

from __future__ import annotations

import base64
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from job_process import JobProcess, job_process
from redis_server import Server, running
from seeds import turn_of
from test_canaries import TURNS
from test_frozen_brokers import asked
from topics import Topic

from arroyo_nb.cli import main
from arroyo_nb.engine.folders import default_base
from arroyo_nb.jobs.folder import promote
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.session import Session

WITHIN_S = 120
USER, WORD = "canary-user", "canary/kafka 8d1f"
SECRETS = {
    "BROKER_USER": USER,
    "BROKER_WORD": WORD,
    "REDIS_WORD": "canary/redis 8d1f",
    "REGISTRY_KEY": "canary+registry",
    "REGISTRY_WORD": "canary/registry 8d1f",
}
LOGIN = (
    "'auth.type' = 'sasl', 'auth.mechanism' = 'PLAIN', "
    "'auth.protocol' = 'SASL_PLAINTEXT', 'auth.username' = '{{ BROKER_USER }}', "
    "'auth.password' = '{{ BROKER_WORD }}'"
)
SCRIPT = """
CREATE TABLE orders (id INT, name TEXT) WITH (
    connector = 'kafka', type = 'source', topic = 'SOURCE', format = 'json',
    bootstrap_servers = '{{ BROKER }}', 'source.offset' = 'earliest', LOGIN);
CREATE TEMPORARY TABLE users (name TEXT METADATA FROM 'key' PRIMARY KEY, town TEXT)
WITH (connector = 'redis', address = '{{ REDIS }}', format = 'json',
    password = '{{ REDIS_WORD }}');
CREATE TABLE made WITH (
    connector = 'kafka', type = 'sink', topic = 'SINK', format = 'json',
    bootstrap_servers = '{{ BROKER }}', LOGIN,
    'json.confluent_schema_registry' = 'true',
    'schema_registry.endpoint' = '{{ REGISTRY }}',
    'schema_registry.api_key' = '{{ REGISTRY_KEY }}',
    'schema_registry.api_secret' = '{{ REGISTRY_WORD }}');
INSERT INTO made SELECT id, town FROM orders JOIN users ON orders.name = users.name;
"""
KNOWN = base64.b64encode(
    f"{SECRETS['REGISTRY_KEY']}:{SECRETS['REGISTRY_WORD']}".encode()
).decode()


class Registry(BaseHTTPRequestHandler):
    """Knows one login."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        is_known = self.headers["Authorization"] == f"Basic {KNOWN}"
        self.send_response(200 if is_known else 401)
        self.end_headers()
        self.wfile.write(b'{"id": 1}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def broker() -> Iterator[LocalBroker]:
    with LocalBroker({USER: WORD}) as started:
        yield started


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        server.client.set("ann", json.dumps({"town": "Rome"}))
        server.client.config_set("requirepass", SECRETS["REDIS_WORD"])
        yield server


@pytest.fixture
def registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def spellings(secret: str) -> Iterator[bytes]:
    """As text, in an address, and as base64 at each place of a longer text."""
    yield secret.encode()
    yield quote(secret).encode()
    yield quote(secret, safe="").encode()
    for before in range(3):
        # The first and the last letters depend on what is beside it.
        whole = base64.b64encode(b"x" * before + secret.encode())
        yield whole[4 if before else 0 : -4]


def leaks(texts: dict[str, bytes], secrets: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (where, name)
        for where, text in texts.items()
        for name, secret in secrets.items()
        if any(spelling in text for spelling in spellings(secret))
    ]


def texts_of(job: JobProcess, here: Path) -> dict[str, bytes]:
    """Everything that is not the memory of the user's own processes."""
    work = default_base().glob(f"arroyo_nb-{job.process.pid}-*")
    files = [p for folder in (here, *work) for p in folder.rglob("*") if p.is_file()]
    lines = [*Path("/proc").glob("[0-9]*/cmdline")]
    found = {"its events": json.dumps(job.events).encode()}
    for path in (*files, *lines):
        with suppress(OSError):
            found[str(path)] = path.read_bytes()
    return found


def test_what_is_looked_for_would_be_found() -> None:
    for secret in SECRETS.values():
        for text in (secret, quote(secret, safe="")):
            assert leaks({"": f"<{text}>".encode()}, {"it": secret}) == [("", "it")]
        for before in range(4):
            encoded = base64.b64encode(b"u" * before + b":" + secret.encode() + b"\n")
            assert leaks({"": encoded}, {"it": secret}) == [("", "it")]


@turn_of("a job", TURNS, "canaries")
def test_none_comes_out_of_a_job(
    broker: LocalBroker,
    redis: Server,
    registry: str,
    tmp_path: Path,
    eventually: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, made = Topic(broker, 1), Topic(broker, 1)
    script = SCRIPT.replace("LOGIN", LOGIN)
    script = script.replace("SOURCE", source.name).replace("SINK", made.name)
    here = tmp_path / "here"
    environ = {
        **SECRETS,
        "BROKER": broker.sasl_servers,
        "REDIS": redis.address,
        "REGISTRY": registry,
        "ARROYO_NB_LOG_LEVEL": "info",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    plan = Session().plan(script)
    for target in ("local", "spark-submit", "kubernetes"):
        promote(plan, "secretive", here, target=target)
    spec = here / "job.yaml"
    source.send({"id": 1, "name": "ann"})

    pages: dict[str, bytes] = {}
    with job_process(spec, "--port", "0") as job:
        port = job.event("serving")["port"]
        job.event("running")
        eventually(lambda: made.end() == 1, WITHIN_S)
        # From now on it fails, at a place where its error has most to tell.
        redis.client.config_set("requirepass", "another")
        redis.client.client_kill_filter(skipme=True)
        source.send({"id": 2, "name": "bob"})
        told = job.event("restarting")["error"]
        assert "the lookup table 'users' cannot ask redis" in told
        for page in ("/healthz", "/readyz", "/metrics"):
            pages[page] = asked(port, page)[1].encode()
        found = texts_of(job, here)
        job.process.send_signal(signal.SIGTERM)
        job.event("job_ended")
        assert job.process.wait(WITHIN_S) == 143
    (value,) = [record.value() for record in made.records()][:1]
    assert value == b'\0\0\0\0\1{"id":1,"town":"Rome"}'
    for command in ("explain", "check", "status", "logs"):
        main([command, str(spec)])
        pages[command] = "".join(capsys.readouterr()).encode()
        assert pages[command] or command == "check"  # which is silent where all is well
    assert any("spark.log" in name for name in found)
    assert any("/offsets/" in name for name in found)
    assert leaks(found | texts_of(job, here) | pages, SECRETS) == []

    # A registry that refuses is told when the job starts.
    wrong = {"REGISTRY_WORD": "canary/wrong 8d1f"}
    with job_process(spec, "--state-dir", str(here / "other"), env=wrong) as job:
        told = job.event("job_ended")
        assert "wrong credentials" in json.dumps(job.events), told
        assert leaks(texts_of(job, here), SECRETS | wrong) == []
