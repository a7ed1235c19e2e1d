"""What a check would read beside the cell: neither it nor a cell waits for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arroyo_nb.editor import background_reads
from arroyo_nb.editor.background_reads import BackgroundReads
from arroyo_nb.editor.connection import EditorConnection
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats.protobuf import source
from arroyo_nb.session import Session
from arroyo_nb.sql.parse import deep_stack

KAFKA = "connector = 'kafka', bootstrap_servers = '192.0.2.1:9092', topic = 't'"
QUERY = ";\nSELECT id FROM t"


@pytest.fixture
def connection() -> Iterator[EditorConnection]:
    session = Session()
    yield EditorConnection(session, lambda: False, {})
    session.close()


def messages(connection: EditorConnection, text: str) -> list[str]:
    answer = connection.answer({"ask": "check", "text": f"%%arroyo\n{text}"})
    return [mark["message"] for mark in answer["answer"]["marks"]]


def test_a_schema_is_read_while_nobody_waits(
    connection: EditorConnection,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., None],
) -> None:
    goes_on, begun = threading.Event(), threading.Event()

    def read(table: str, options: object) -> Any:
        begun.set()
        goes_on.wait(20)
        raise CatalogProblem("the message has no such field")

    monkeypatch.setattr(source, "read_schema", read)
    monkeypatch.setattr(background_reads, "WAIT_S", 0.01)
    text = (
        f"CREATE TABLE t (id BIGINT) WITH ({KAFKA}, type = 'source', format = "
        f"'protobuf', 'protobuf.schema' = 'slow', 'protobuf.message' = 'M'){QUERY}"
    )
    start = time.monotonic()
    assert not [m for m in messages(connection, text) if "no such field" in m]
    assert begun.wait(5)
    with deep_stack():  # as a cell that is planned
        pass
    assert time.monotonic() - start < 5, "it has waited"
    goes_on.set()
    # At the next key, the text being the same.
    eventually(lambda: "no such field" in " ".join(messages(connection, text)))


def test_no_check_asks_a_registry(connection: EditorConnection) -> None:
    with socket.create_server(("127.0.0.1", 0)) as registry:
        registry.settimeout(0.05)
        url = f"http://127.0.0.1:{registry.getsockname()[1]}"
        for name in ("avro", "protobuf", "json"):
            text = (
                f"CREATE TABLE t (id BIGINT) WITH ({KAFKA}, type = '%s', "
                f"format = '{name}', '{name}.confluent_schema_registry' = 'true', "
                f"'schema_registry.endpoint' = '{url}')"
            )
            messages(connection, text % "source" + QUERY)
            messages(connection, text % "sink")
            asked = {"ask": "hover", "text": f"%%arroyo\n{text % 'source'}", "at": 23}
            assert "id BIGINT" in str(connection.answer(asked))
        # Whoever had asked would wait: nobody answers.
        with pytest.raises(TimeoutError):
            registry.accept()


def test_a_changed_value_is_another_version(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    monkeypatch.setattr(background_reads, "NEW_S", 0.0)
    reads, found = BackgroundReads(), [1]
    eventually(lambda: reads.known("key", lambda: found[0]) == 1)
    assert reads.version == 1
    found[0] = 2
    eventually(lambda: reads.known("key", lambda: found[0]) == 2)
    assert reads.version == 2
