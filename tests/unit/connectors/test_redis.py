"""The parts of the redis connector that need no server."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager

import pytest

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import Unreached
from arroyo_nb.feeds.connectors.redis import CONNECTOR
from arroyo_nb.schema import TEXT, Field, Schema


def asker(**options):
    return CONNECTOR.asker(TableSpec("people", Schema((Field("n", TEXT),)), options))


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize("option", ["address", "cluster.addresses"])
def test_a_server_that_is_not_there_is_told_without_its_password(option, monkeypatch):
    monkeypatch.setattr("arroyo_nb.feeds.connectors.redis._lookup.TRIES", 1)
    port = free_port()
    address = f"redis://ann:secret@127.0.0.1:{port}"
    asked = asker(**{option: address})
    with pytest.raises(Unreached) as caught:
        asked.ask(["a"])
    message = caught.value.message
    shown = f"'people' cannot ask redis at redis://127.0.0.1:{port}: "
    assert shown in message
    assert "secret" not in message + repr(asked)


@contextmanager
def silent():
    """The port of a server that lets everybody in and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize("option", ["address", "cluster.addresses"])
def test_a_server_that_hangs_is_told_within_five_seconds(option):
    with silent() as port:
        asked = asker(**{option: f"redis://127.0.0.1:{port}"})
        began_s = time.monotonic()
        with pytest.raises(Unreached, match=r"(?i)cannot ask redis .*timeout"):
            asked.ask(["a"])
        assert time.monotonic() - began_s < 5


def test_nothing_is_asked_for_no_keys():
    assert asker(address=f"redis://127.0.0.1:{free_port()}").ask([]) == []


def test_the_nodes_of_a_cluster_are_told_apart():
    nodes = asker(**{"cluster.addresses": "redis://one:1, redis://two:2"})
    assert nodes.addresses == ("redis://one:1", "redis://two:2")
