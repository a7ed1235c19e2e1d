"""A feed of a test: what each connection gives is written down before."""

from __future__ import annotations

import threading
import time
from types import MappingProxyType

from machine import allowed

from arroyo_nb.errors import Unreached
from arroyo_nb.feeds import Message


def message(number):
    """A message that has a position."""
    return Message(b'{"n": %d}' % number, number, {"n": number})


class FakeConnection:
    """Gives what it is made of: a list of messages, or an error; then waits."""

    def __init__(self, script, *, resumes=False, lost_messages=0):
        self.resumes = resumes
        self.lost_messages = lost_messages
        self.acknowledged = []
        self.closed = False
        self._script = list(script)

    def receive(self, timeout_s):
        if not self._script:
            time.sleep(min(timeout_s, 0.01))
            return ()
        step = self._script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step

    def acknowledge(self, position):
        self.acknowledged.append(position)

    def close(self):
        self.closed = True


class FakeFeed:
    """Gives one connection after the other, or an error; then it is away."""

    server = "fake://server"
    metadata = MappingProxyType({})

    def __init__(self, *connections):
        self.positions = []
        self.connected = threading.Event()
        self._connections = list(connections)

    def connect(self, position):
        self.positions.append(position)
        if not self._connections:
            raise Unreached("nobody is there")
        connection = self._connections.pop(0)
        if isinstance(connection, BaseException):
            raise connection
        self.connected.set()
        return connection


def taken(receiver, count, within_s=10.0):
    """So many messages."""
    found, until_s = [], time.monotonic() + allowed(within_s)
    while len(found) < count:
        assert time.monotonic() < until_s, f"{len(found)} of {count} messages came"
        found += receiver.take(0.05)
    return found
