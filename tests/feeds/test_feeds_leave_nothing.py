"""What has ended has no thread, no socket and no file any more."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from feed_servers import HttpServer, begin_events, feed_of, reply, spec_of, taken
from test_websocket_feeds import sends, serving

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.feeds.connectors.webhook import WebhookWriter
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.feeds.receiver import Receiver

TIMES = 20

OTHERS = TIMES // 2
"""So many threads and files may others of this process open meanwhile, such as the
engine that a test before has started. What each time leaves behind is twice as many."""


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def answer(handler):
    if handler.path != "/events":
        return reply(handler, 200, b'{"n": 1}')
    begin_events(handler)
    return handler.wfile.write(b'data: {"n": 1}\n\n')


@pytest.fixture
def urls():
    """Of a server for each connector."""
    with ExitStack() as stack:
        server = stack.enter_context(HttpServer(answer))
        yield {
            "sse": server.url + "/events",
            "polling_http": server.url + "/state",
            "websocket": stack.enter_context(serving(sends('{"n": 1}'))),
            "webhook": server.url + "/hook",
        }


@pytest.mark.parametrize("connector", ["sse", "polling_http", "websocket"])
def test_a_feed_that_is_stopped_leaves_nothing(connector, urls, eventually):
    def receive():
        feed = feed_of(connector, urls[connector])
        with Receiver(feed, None, resumed=False) as received:
            taken(received, 1)

    receive()
    # The server has threads of its own, which end when they find out.
    before, threads = descriptors(), threading.active_count()
    for _ in range(TIMES):
        receive()
    eventually(lambda: threading.active_count() < threads + OTHERS)
    eventually(lambda: descriptors() < before + OTHERS)


def test_a_webhook_that_is_closed_leaves_nothing(urls, eventually):
    def post():
        writer = WebhookWriter(spec_of(CONNECTORS.get("webhook"), urls["webhook"]))
        writer.take(pa.table({VALUE: ["1"]}), 0)
        writer.close()

    post()
    before, threads = descriptors(), threading.active_count()
    for _ in range(TIMES):
        post()
    eventually(lambda: threading.active_count() < threads + OTHERS)
    eventually(lambda: descriptors() < before + OTHERS)
