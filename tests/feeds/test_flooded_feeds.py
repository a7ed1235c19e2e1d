"""A server that sends faster than anybody reads: its messages wait where they are."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from feed_servers import feed_of
from seeds import of_the_day

from arroyo_nb.feeds.receiver import Receiver

HERE = Path(__file__).parent
LARGEST_GROWTH_BYTES = 300 * 2**20
"""The buffers hold 72 MiB; a message takes more than its bytes."""


@contextmanager
def flooding():
    """The port of a flooding server."""
    path = os.pathsep.join((str(HERE), str(HERE.parent), *sys.path))
    with subprocess.Popen(
        [sys.executable, str(HERE / "flooding_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("connector", "scheme"),
    of_the_day([pytest.param("sse", "http"), pytest.param("websocket", "ws")], "feeds"),
)
@pytest.mark.parametrize(
    "seconds", [0.5, pytest.param(10.0, marks=pytest.mark.long("feeds"))], ids=str
)
def test_a_flood_takes_bounded_memory_read_or_not(
    connector, scheme, seconds, eventually, record_property
):
    with flooding() as port:
        feed = feed_of(connector, f"{scheme}://127.0.0.1:{port}")
        with Receiver(feed, None, resumed=False) as received:
            eventually(lambda: received.connection_status.connections)
            before, most, messages = resident_bytes(), 0, 0
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s:
                messages += len(received.take(0.05))
                most = max(most, resident_bytes())
            # From here on nobody reads.
            eventually(lambda: received._is_full)
            most = max(most, resident_bytes())
            status = received.connection_status
    record_property("messages per second", round(messages / seconds))
    print(
        f"{connector}: {messages / seconds:,.0f}/s, +{(most - before) / 2**20:.0f} MiB"
    )
    assert messages
    assert most - before < LARGEST_GROWTH_BYTES
    assert (status.connections, status.lost_messages) == (1, 0)
