"""Runs of feeds, from SQL to rows."""

import threading
import time

import pytest
from feed_servers import HttpServer, begin_events, free_port, reply, wait_for_end
from test_websocket_feeds import sends, serving

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import receiver
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.views.panel import frame

EVENTS = """
CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'sse',
  endpoint = '{url}', format = 'json');
SELECT n FROM numbers
"""


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 0.1)


def events(count, each):
    """Serves numbered events behind the last id, so many a connection."""

    def answer(handler):
        first = int(handler.headers.get("Last-Event-ID", "0"))
        begin_events(handler)
        for n in range(first + 1, min(first + each, count) + 1):
            handler.wfile.write(b'id: %d\ndata: {"n": %d}\n\n' % (n, n))
        if first + each >= count:
            wait_for_end(handler)

    return answer


def _lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def numbers(run):
    return run.table()["n"].to_pylist()


def test_events_are_rows_each_once_over_cuts_and_the_panel_says_so(session, eventually):
    with HttpServer(events(50, 10)) as server:
        run = session.run(EVENTS.format(url=server.url))
        eventually(lambda: len(numbers(run)) == 50)
        # Spark's progress comes behind the rows.
        eventually(lambda: run.snapshot().sources[0].rows == 50)
        source = run.snapshot().sources[0]
        assert (source.gaps, source.away_s) == (0, 0.0)
        run.stop()
        assert run.wait_quietly(30)
    assert run.state is RunState.STOPPED
    assert numbers(run) == list(range(1, 51))
    assert len(server.requests) == 5


def test_a_run_is_finished_when_the_server_ends_its_stream(session):
    served = iter([True])

    def answer(handler):
        if not next(served, False):
            return reply(handler, 204)
        begin_events(handler)
        for n in range(1, 21):
            handler.wfile.write(b'id: %d\ndata: {"n": %d}\n\n' % (n, n))
        return None

    with HttpServer(answer) as server:
        run = session.run(
            f"""CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'sse',
              endpoint = '{server.url}', format = 'json');
            SELECT tumble(INTERVAL '1 day') AS day, count(*) AS n FROM numbers
            GROUP BY day"""
        )
        assert run.wait(60)
    assert run.state is RunState.FINISHED
    assert sum(numbers(run)) == 20


def test_a_run_that_is_resumed_goes_on_behind_its_last_event(
    session, tmp_path, eventually
):
    sink, asked = tmp_path / "numbers.json", []
    # Its port is the same both times: another endpoint is another table.
    port = free_port()
    script = f"""CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'sse',
      endpoint = 'http://127.0.0.1:{port}', format = 'json');
    CREATE TABLE kept (n BIGINT) WITH (connector = 'single_file', type = 'sink',
      format = 'json', path = '{sink}');
    INSERT INTO kept SELECT n FROM numbers"""
    for count in (20, 45):
        with HttpServer(events(count, 100), port) as server:
            run = session.run(script, name="kept", state_dir=tmp_path / "state")
            eventually(lambda rows=count: _lines(sink) == rows)
            run.stop()
            assert run.wait_quietly(30)
        asked.append(server.requests[0].headers.get("Last-Event-ID"))
    assert asked == [None, "20"]
    assert sink.read_text() == "".join(f'{{"n":{n}}}\n' for n in range(1, 46))


def test_a_feed_that_is_away_is_told_and_found_again(session, eventually):
    with serving(sends('{"n": 1}')) as url:
        run = session.run(
            f"""CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'websocket',
            endpoint = '{url}', format = 'json'); SELECT n FROM numbers"""
        )
        eventually(lambda: numbers(run) == [1])
    eventually(lambda: run.snapshot().sources[0].away_s >= 1)
    assert "no connection for" in frame(run.snapshot())
    port = int(url.rpartition(":")[2])
    with serving(sends('{"n": 2}'), port):
        eventually(lambda: numbers(run) == [1, 2])
        assert "reconnected 1 time, messages may be missing" in frame(run.snapshot())
        began_s = time.monotonic()
        run.stop()
        assert run.wait_quietly(30)
    assert time.monotonic() - began_s < 10


def test_a_wrong_token_fails_the_run_with_the_place_of_no_secret(session, monkeypatch):
    monkeypatch.setenv("FEED_TOKEN", "abcde")
    with HttpServer(lambda h: reply(h, 401)) as server:
        run = session.run(
            f"""CREATE TABLE numbers (n BIGINT NOT NULL) WITH (connector = 'sse',
            endpoint = '{server.url}', format = 'json',
            headers = 'Authorization: Bearer {{{{ FEED_TOKEN }}}}');
            SELECT n FROM numbers"""
        )
        with pytest.raises(RunProblem, match="refuses the request") as failed:
            run.wait(60)
    assert server.requests[0].headers["Authorization"] == "Bearer abcde"
    assert "abcde" not in str(failed.value)


def test_answers_that_are_polled_are_posted_on_in_order(session, eventually):
    served, posted = iter(range(1, 1000)), []

    def answer(handler):
        if handler.command == "POST":
            posted.append(handler.body.decode())
            return reply(handler, 503 if len(posted) == 3 else 200)
        return reply(handler, 200, b'{"n": %d}' % next(served))

    with HttpServer(answer) as server:
        run = session.run(
            f"""CREATE TABLE states (n BIGINT NOT NULL) WITH (
              connector = 'polling_http', endpoint = '{server.url}/state',
              poll_interval_ms = 20, format = 'json');
            CREATE TABLE hook (n BIGINT) WITH (connector = 'webhook',
              endpoint = '{server.url}/hook', format = 'json');
            INSERT INTO hook SELECT n FROM states"""
        )
        eventually(lambda: len(posted) > 10)
        run.stop()
        assert run.wait_quietly(30)
    # The third was not taken at first.
    assert posted[2] == posted[3]
    once = posted[:2] + posted[3:]
    assert once[:8] == [f'{{"n":{n}}}' for n in range(1, 9)]
    assert run.error is None


def test_a_stop_does_not_wait_for_a_webhook_that_hangs(session, eventually):
    reached, go = threading.Event(), threading.Event()

    def hang(handler):
        reached.set()
        go.wait(30)
        reply(handler, 200)

    with HttpServer(hang) as server:
        run = session.run(
            f"""CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);
            CREATE TABLE hook (n BIGINT) WITH (connector = 'webhook',
              endpoint = '{server.url}', format = 'json');
            INSERT INTO hook SELECT counter FROM ticks"""
        )
        eventually(reached.is_set)
        began_s = time.monotonic()
        run.stop()
        assert run.wait_quietly(30)
        assert time.monotonic() - began_s < 3
        go.set()
    assert run.state is RunState.STOPPED
    assert run.error is None
