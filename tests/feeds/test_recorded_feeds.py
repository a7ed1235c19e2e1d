"""Feeds on tapes: recorded once, played again."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from feed_servers import HttpServer, begin_events, wait_for_end
from feed_tables import declared
from machine import allowed
from mosquitto_server import mosquitto, publish
from nats_server import add_stream, nats_server, talk
from nats_server import publish as publish_to_stream

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.feeds.connectors.mqtt import _client
from arroyo_nb.feeds.recording import feed_records

TABLE = """
CREATE TABLE numbers (n BIGINT NOT NULL{more}) WITH (connector = 'sse',
  endpoint = '{url}', format = 'json');
"""


def thirty(handler):
    """Thirty numbered events, and then nothing more."""
    begin_events(handler)
    for n in range(1, 31):
        handler.wfile.write(b'data: {"n": %d, "who": "lily"}\n\n' % n)
    wait_for_end(handler)


def test_a_feed_is_recorded_and_played_again(session, tmp_path):
    path = tmp_path / "numbers.tape"
    with HttpServer(thirty) as server:
        session.run(TABLE.format(url=server.url, more=""))
        made = session.record("numbers", path, most=30, redact=["who"])
    assert (made.records, made.error) == (30, None)
    assert made.topic == "numbers"
    run = session.run(made.statement + "SELECT n FROM numbers", wait=True)
    assert run.table()["n"].to_pylist() == list(range(1, 31))
    text = "SELECT value FROM taped"
    raw = "CREATE TABLE taped (value TEXT) WITH (connector = 'tape', path = '{}', "
    script = raw.format(path) + "format = 'raw_string');\n" + text
    values = session.run(script, wait=True).table()["value"].to_pylist()
    assert len(values) == 30
    # No name that the hexadecimal digits of a digest could be.
    assert not any("lily" in value for value in values)


def test_what_came_before_the_end_of_a_feed_is_kept(session, tmp_path):
    path = tmp_path / "numbers.tape"
    with HttpServer(thirty) as server:
        session.run(TABLE.format(url=server.url, more=""))
        made = session.record("numbers", path, stop_after="2s")
    assert made.records == 30
    assert made.seconds >= 2


def test_a_broker_that_waits_for_acknowledgements_gets_them(tmp_path, monkeypatch):
    # So many it sends without any.
    monkeypatch.setattr(_client, "RECEIVE_MAXIMUM", 20)
    settings = {"topic": "rooms/#", "qos": "AtLeastOnce"}
    with mosquitto(tmp_path) as server:
        url = f"mqtt://127.0.0.1:{server.port}"
        table = declared("mqtt", "source", url=url, **settings)
        sent = [b"%d" % n for n in range(200)]
        with closing(feed_records(table)) as records:
            # What comes before it has subscribed does not come to it.
            while next(records).record is None:
                publish(server.port, [b"begins"])
            publish(server.port, sent)
            arrived, until_s = [], time.monotonic() + allowed(10)
            while len(arrived) < len(sent) and time.monotonic() < until_s:
                record = next(records).record
                if record is not None and record.value != b"begins":
                    arrived.append(record.value)
    assert arrived == sent


def test_a_recording_takes_nothing_from_a_queue(tmp_path):
    """What is acknowledged leaves a work queue, and nobody else gets it."""
    with nats_server(tmp_path) as server:
        add_stream(server.port, "jobs", "jobs.>", retention="workqueue")
        publish_to_stream(server.port, "jobs.a", [b"1", b"2", b"3"])
        options = {"servers": f"127.0.0.1:{server.port}", "stream": "jobs"}
        arrived, until_s = [], time.monotonic() + allowed(10)
        with closing(feed_records(declared("nats", "source", **options))) as records:
            while len(arrived) < 3 and time.monotonic() < until_s:
                record = next(records).record
                arrived += [] if record is None else [record.value]
            # Whoever asks for more has those on disk.
            assert [next(records).record for _ in range(5)] == [None] * 5
        info = talk(server.port, lambda nats: nats.jetstream().stream_info("jobs"))
    assert arrived == [b"1", b"2", b"3"]
    assert info.state.messages == 3


def test_a_feed_that_cannot_be_recorded(session, tmp_path):
    path = tmp_path / "numbers.tape"
    with HttpServer(thirty) as server:
        session.run(TABLE.format(url=server.url, more=""))
        with pytest.raises(RunProblem, match="'numbers' is a feed: it is recorded f"):
            session.record("numbers", path, begin="earliest")
    with pytest.raises(ArroyoError, match="cannot be reached"):
        session.record("numbers", path)
    assert not path.exists()
