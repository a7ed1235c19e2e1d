"""Limits of descriptors, and what is said at them."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from py4j.clientserver import JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty, PythonProxyPool

from arroyo_nb.engine import descriptors
from arroyo_nb.engine.callbacks import CallbackServer
from arroyo_nb.engine.descriptors import check_limit, check_spare
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import RAISE
from arroyo_nb.spark.failures import run_problem

USED_UP = OSError(errno.EMFILE, "Too many open files")


class NoJava:
    """What a connection tells of itself, and nobody asks for here."""

    def set_thread_connection(self, connection: object) -> None:
        pass


@pytest.fixture
def limited() -> Iterator[None]:
    """Some more descriptors than are open may be opened."""
    newest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (newest + 16, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def server(limited: None) -> Iterator[CallbackServer]:
    parameters = PythonParameters(
        port=0, daemonize=True, daemonize_connections=True, eager_load=False
    )
    server = CallbackServer(
        NoJava(),
        JavaParameters(),
        parameters,
        GatewayProperty(False, PythonProxyPool()),
    )
    server.start()
    yield server
    server.shutdown()


def ask(caller: socket.socket) -> str:
    caller.settimeout(5)
    caller.sendall(b"c\nno_such_object\ncall\ne\n")
    return caller.makefile().readline()


def test_a_callback_without_descriptors_is_answered_and_the_next_one_served(
    server: CallbackServer,
) -> None:
    where = ("127.0.0.1", server.get_listening_port())
    refused = 0
    # Some other thread of the process may close a file just then: the call is served.
    while refused < 3:
        with socket.socket() as caller, ExitStack() as held:
            with suppress(OSError):
                while True:
                    held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            caller.connect(where)
            reply = ask(caller)
        refused += "Too many open files" in reply
        assert "Too many open files" in reply or "Object ID unknown" in reply
    with socket.create_connection(where) as caller:
        assert "Object ID unknown" in ask(caller)


def test_spark_is_not_started_where_it_cannot_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    with pytest.raises(EngineProblem, match="256 open files") as raised:
        check_limit()
    assert RAISE in str(raised.value.hint)


def test_java_raises_its_soft_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    check_limit()


def test_it_is_looked_whether_there_are_enough() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    check_spare()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_too_few_are_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def open_few(*_: object) -> int:
        if len(opened) == 3:
            raise USED_UP
        opened.append(os.dup(1))
        return opened[-1]

    monkeypatch.setattr(descriptors.os, "open", open_few)
    with pytest.raises(OSError, match="Too many"):
        check_spare()
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def wrapped() -> RunProblem:
    problem = RunProblem("the source 'orders' stopped")
    problem.__cause__ = USED_UP
    return problem


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (USED_UP, "this Python process has reached its limit of 256"),
        (wrapped(), "this Python process has reached its limit of 256"),
        (
            RuntimeError("OSError: [Errno 24] Too many open files: 'a'"),
            "this Python process has reached its limit of 256",
        ),
        (
            RuntimeError("[FAILED_READ_FILE.NO_HINT] /a (Too many open files)"),
            "Spark's Java process has reached its limit of 4,096",
        ),
        (RuntimeError("Too many open files in system"), "no more for anybody"),
    ],
)
def test_the_limit_is_named_and_what_to_type(
    error: Exception, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    problem = run_problem(error)
    assert whose in problem.message
    assert problem.hint == RAISE
    assert problem.__cause__ is error


def test_what_a_record_says_is_no_shortage() -> None:
    problem = RunProblem("cannot read the record 'Too many open files'")
    assert run_problem(problem) is problem
