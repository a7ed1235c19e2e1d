"""Feeds on tapes: recorded once, played again."""

from __future__ import annotations

import pytest
from feed_servers import HttpServer, begin_events, wait_for_end

from arroyo_nb.errors import ArroyoError, RunProblem

TABLE = """
CREATE TABLE numbers (n BIGINT NOT NULL{more}) WITH (connector = 'sse',
  endpoint = '{url}', format = 'json');
"""


def thirty(handler):
    """Thirty numbered events, and then nothing more."""
    begin_events(handler)
    for n in range(1, 31):
        handler.wfile.write(b'data: {"n": %d, "who": "ada"}\n\n' % n)
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
    assert not any("ada" in value for value in values)


def test_what_came_before_the_end_of_a_feed_is_kept(session, tmp_path):
    path = tmp_path / "numbers.tape"
    with HttpServer(thirty) as server:
        session.run(TABLE.format(url=server.url, more=""))
        made = session.record("numbers", path, stop_after="2s")
    assert made.records == 30
    assert made.seconds >= 2


def test_a_feed_that_cannot_be_recorded(session, tmp_path):
    path = tmp_path / "numbers.tape"
    with HttpServer(thirty) as server:
        session.run(TABLE.format(url=server.url, more=""))
        with pytest.raises(RunProblem, match="'numbers' is a feed: it is recorded f"):
            session.record("numbers", path, begin="earliest")
    with pytest.raises(ArroyoError, match="cannot be reached"):
        session.record("numbers", path)
    assert not path.exists()
