"""A real WebSocket server: what it sends, how it ends, what it refuses."""

import threading
import time
from contextlib import contextmanager, suppress

import pytest
from feed_servers import (
    HttpServer,
    feed_of,
    free_port,
    payloads,
    reply,
    silent,
    spec_of,
    taken,
    wait_for_end,
)
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import receiver
from arroyo_nb.feeds.connectors import websocket
from arroyo_nb.feeds.receiver import Receiver


@pytest.fixture
def _short_waits(monkeypatch):
    monkeypatch.setattr(receiver, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(receiver, "LONGEST_WAIT_S", 0.05)


@contextmanager
def serving(handle, port=0, **options):
    """A server that calls a function with each connection; its URL."""

    def handled(connection):
        with suppress(ConnectionClosed):
            handle(connection)

    server = serve(handled, "127.0.0.1", port, close_timeout=0.2, **options)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
    finally:
        server.shutdown()
        thread.join()


def wait(connection):
    """Keep the connection until the other side ends it."""
    for _ in connection:
        pass


def sends(*messages):
    def handle(connection):
        for message in messages:
            connection.send(message)
        wait(connection)

    return handle


def test_texts_and_bytes_are_messages():
    with serving(sends('{"n": 1}', b"\x00\xff", "\u00e9")) as url:
        found = payloads(feed_of("websocket", url), 3)
    assert found == [b'{"n": 1}', b"\x00\xff", "\u00e9".encode()]


def test_headers_are_sent_and_what_subscribes_is_sent_in_order():
    def handle(connection):
        connection.send(connection.request.headers["Authorization"])
        for _ in range(4):
            connection.send(connection.recv())
        wait(connection)

    options = {
        "headers": "Authorization: Bearer abc",
        "subscription_message": "zero",
        "subscription_messages.10": "ten",
        "subscription_messages.2": "two",
        "subscription_messages.1": '{"subscribe": "{n}"}',
    }
    with serving(handle) as url:
        found = payloads(feed_of("websocket", url, **options), 5)
    assert found == [b"Bearer abc", b"zero", b'{"subscribe": "{n}"}', b"two", b"ten"]


@pytest.mark.usefixtures("_short_waits")
@pytest.mark.parametrize(
    ("code", "reason", "says"),
    [
        (1000, "", "has ended"),
        (1001, "going away", r"has closed the connection (1001): going away"),
        (1008, "too many", r"has closed the connection (1008): too many"),
        (1011, "", "has closed the connection (1011)"),
        (4001, "no such room", "has closed the connection (4001): no such room"),
    ],
)
def test_a_connection_that_is_closed_is_made_again(code, reason, says, eventually):
    numbers, told = iter(range(1, 10)), []

    def handle(connection):
        number = next(numbers)
        connection.send(str(number))
        if number > 1:
            wait(connection)
        connection.close(code, reason)

    with serving(handle) as url:
        feed = feed_of("websocket", url)
        received = Receiver(feed, None, resumed=False)
        disconnected = received._disconnected
        received._disconnected = lambda p: told.append(p.message) or disconnected(p)
        with received:
            assert [m.payload for m in taken(received, 2)] == [b"1", b"2"]
            assert received.connection_status.gaps == 1
    assert told == [f"the server of 'numbers', {url}, {says}"]


@pytest.mark.usefixtures("_short_waits")
@pytest.mark.parametrize(
    "times", [3, pytest.param(20, marks=pytest.mark.long("feeds"))], ids=str
)
def test_a_server_that_goes_and_comes_back_is_subscribed_to_again(times):
    port, asked = free_port(), []

    def handle(connection):
        asked.append(connection.recv())
        connection.send(str(len(asked)))
        wait(connection)

    feed = feed_of("websocket", f"ws://127.0.0.1:{port}", subscription_message="prices")
    with serving(handle, port):
        received = Receiver(feed, None, resumed=False)
        received.__enter__()
        taken(received, 1)
    for number in range(2, times + 1):
        with serving(handle, port):
            assert taken(received, 1)[0].payload == str(number).encode()
    received.__exit__()
    assert asked == ["prices"] * times
    assert received.connection_status.gaps == times - 1


def test_a_connection_that_breaks_off_in_a_message_gives_no_half_of_it(eventually):
    def handle(connection):
        connection.send("whole")
        # The head of a frame of 100 bytes, and the first of them.
        connection.socket.sendall(b"\x81\x64half")
        connection.socket.close()

    with serving(handle) as url:
        feed = feed_of("websocket", url)
        with Receiver(feed, None, resumed=False) as received:
            assert taken(received, 1)[0].payload == b"whole"
            eventually(lambda: received.connection_status.why)
            assert received.take(0) == []


def test_a_message_of_any_size_is_refused(monkeypatch):
    monkeypatch.setattr(websocket, "LARGEST_MESSAGE_BYTES", 2**20)
    with serving(sends("ok", "x" * (2**20 + 1)), max_size=None) as url:
        feed = feed_of("websocket", url)
        with Receiver(feed, None, resumed=False) as received:
            assert taken(received, 1)[0].payload == b"ok"
            with pytest.raises(RunProblem, match="a message of more than 1 MiB"):
                taken(received, 1)


def test_of_large_messages_few_are_held(eventually):
    """While nobody receives, the server waits: a message may have 16 MiB."""
    with serving(sends(*["x" * 2**20] * 50)) as url:
        connection = feed_of("websocket", url).connect(None)
        held = connection._connection.recv_messages
        eventually(lambda: held.paused)
        count = held.frames.qsize()
        connection.close()
    assert count * websocket.LARGEST_MESSAGE_BYTES < 100 * 2**20


def failure(url, **options):
    with pytest.raises(RunProblem) as failed:
        payloads(feed_of("websocket", url, **options), 1)
    return failed.value


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, RunProblem, "refuses the request (401 Unauthorized)"),
        (404, RunProblem, "has nothing there (404 Not Found)"),
        (302, RunProblem, "redirects (302), which a WebSocket does not follow"),
        (200, RunProblem, "answers 200 OK: a page"),
        (503, Unreached, "answers 503 Service Unavailable"),
    ],
)
def test_an_answer_of_http_says_what_is_wrong(status, kind, says):
    def answer(handler):
        reply(
            handler, status, b"a page", Location="http://127.0.0.1:1/", Retry_After="3"
        )

    with HttpServer(answer) as server:
        failed = failure(server.url.replace("http", "ws"))
    assert type(failed) is kind
    assert says in failed.message
    assert kind is RunProblem or failed.retry_after_s == 3


def test_no_server_and_a_server_that_hangs_are_told(monkeypatch):
    monkeypatch.setattr(websocket, "OPEN_S", 0.3)
    failed = failure(f"ws://127.0.0.1:{free_port()}")
    assert isinstance(failed, Unreached)
    assert "cannot be reached: connection refused" in failed.message
    with silent() as port:
        failed = failure(f"ws://127.0.0.1:{port}")
    assert isinstance(failed, Unreached)
    assert "did not answer in 0.3 s" in failed.message


def test_a_server_that_hangs_up_at_once_may_be_there_soon():
    def answer(handler):
        handler.close_connection = True

    with HttpServer(answer) as server:
        failed = failure(server.url.replace("http", "ws"))
    assert isinstance(failed, Unreached)


@pytest.mark.parametrize("state", ["silent", "flooded"])
def test_a_stop_is_heard_within_a_second(state, monkeypatch, eventually):
    monkeypatch.setattr(receiver, "BUFFER_MESSAGES", 1_000)

    def handle(connection):
        while state == "flooded":
            connection.send("x" * 100)
        wait(connection)

    with serving(handle) as url:
        received = Receiver(feed_of("websocket", url), None, resumed=False)
        with received:
            if state == "flooded":
                eventually(lambda: len(received._buffer) >= 1_000)
            else:
                eventually(lambda: received.connection_status.connections)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 1.0
        received._thread.join(10)
        assert not received._thread.is_alive()


def test_a_server_that_does_not_say_goodbye_is_left():
    """A hanging server is no reason to wait: what is closed is closed in a second."""

    def answer(handler):
        accept = handler.headers["Sec-WebSocket-Key"]
        from websockets.utils import accept_key

        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header("Sec-WebSocket-Accept", accept_key(accept))
        handler.end_headers()
        wait_for_end(handler)

    with HttpServer(answer) as server:
        feed = feed_of("websocket", server.url.replace("http", "ws"))
        connection = feed.connect(None)
        assert connection.receive(0.05) == []
        began_s = time.monotonic()
        connection.close()
        assert time.monotonic() - began_s < 1.5


def test_options_are_checked_when_the_table_is_made():
    connector = CONNECTORS.get("websocket")
    options = {"subscription_messages.a": "x", "subscription_messages.0": "y"}
    found = dict(connector.check(spec_of(connector, "http://host", **options), None))
    assert list(found) == ["endpoint", "subscription_messages.a"]


def test_a_server_that_closes_at_once_for_its_policy_refuses():
    with (
        serving(lambda connection: connection.close(1008, "bad token")) as url,
        Receiver(feed_of("websocket", url), None, resumed=False) as received,
        pytest.raises(RunProblem) as told,
    ):
        taken(received, 1)
    assert told.value.message.endswith("refuses the connection (1008): bad token")
    assert "headers" in told.value.hint
