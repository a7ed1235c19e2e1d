"""How the rows of a batch come from Spark's process: all of them, or none."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from threading import Thread

import pyarrow as pa
import pytest

from arroyo_nb.engine.arrow_sink import _Receiver
from arroyo_nb.errors import RunProblem

ROWS = pa.table({"n": range(30)})


@contextmanager
def served(path, given):
    """A process that sends bytes to the first who connects, and is gone."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def send():
            connection, _ = server.accept()
            with connection:
                connection.sendall(given)

        sender = Thread(target=send)
        sender.start()
        try:
            yield str(path)
        finally:
            sender.join(20)


def received(address, rows=ROWS.num_rows):
    """What is taken of a batch that has so many rows."""
    taken = []
    receiver = _Receiver(
        ROWS.schema, print, lambda receive, n: taken.append((n, receive()))
    )
    receiver.take(7, rows, address, None)
    return taken


def messages():
    """The schema, three messages of ten rows, the end: each as it is sent."""
    parts, sink = [], pa.BufferOutputStream()
    begun = 0
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        for batch in ROWS.to_batches(max_chunksize=10):
            writer.write_batch(batch)
            parts.append(sink.tell() - begun)
            begun = sink.tell()
    whole, cut = sink.getvalue().to_pybytes(), []
    for size in parts:
        cut.append(whole[:size])
        whole = whole[size:]
    return [*cut, whole]


def test_all_rows_are_received(tmp_path):
    with served(tmp_path / "s", b"".join(messages())) as address:
        assert received(address) == [(7, ROWS)]


def test_a_batch_without_rows_is_not_served():
    assert received(None, 0) == [(7, ROWS.schema.empty_table())]


LOST = "not all of the 30 rows of a batch arrived"


@pytest.mark.parametrize("sent", [1, 2])
def test_a_part_of_a_batch_is_not_taken_for_the_batch(tmp_path, sent):
    """Between two messages Arrow does not see that a stream is cut."""
    part = b"".join(messages()[:sent])
    assert pa.ipc.open_stream(part).read_all().num_rows == sent * 10
    with (
        served(tmp_path / "s", part) as address,
        pytest.raises(RunProblem, match=LOST),
    ):
        received(address)


@pytest.mark.parametrize("left", [0, 10, 500])
def test_a_stream_that_is_cut_anywhere_is_told_in_the_same_words(tmp_path, left):
    with (
        served(tmp_path / "s", b"".join(messages())[:left]) as address,
        pytest.raises(RunProblem, match=LOST),
    ):
        received(address)
