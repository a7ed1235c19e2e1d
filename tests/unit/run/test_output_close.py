"""A sink is let go of when nothing writes it any more, whoever ends the query."""

from __future__ import annotations

import errno
import threading
from contextvars import copy_context
from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors._line_writers import FileWriter
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run import ending, sink_writer
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.output import Output
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run

SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
CREATE TABLE written (counter BIGINT)
WITH (connector = 'single_file', type = 'sink', format = 'json', path = '{}');
INSERT INTO written SELECT counter FROM ticks"""
DEADLINE_S = 20


class Written:
    """An output with a file, and a batch of two lines that waits between them."""

    def __init__(self, folder):
        self.path = folder / "rows.json"
        self.plan = plan_script(SCRIPT.format(self.path), Catalog())
        (sink,) = self.plan.sinks
        self.output = Output(sink, keep=False, write=True, traced=False)
        self.writer = self.open(folder)
        self.writer._lines = SimpleNamespace(pieces=self._lines)
        self.begun, self.go = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.write, args=(0,))
        self.thread.start()
        assert self.begun.wait(DEADLINE_S)

    def open(self, folder):
        writer = self.output._make_writer(folder)
        self.output._sink.open(writer, copy_context())
        return writer

    def write(self, batch_id):
        self.output._sink.take(self.writer, lambda: None, batch_id)

    def _lines(self, _batch):
        yield b"1\n"
        self.begun.set()
        assert self.go.wait(DEADLINE_S)
        yield b"2\n"

    def another(self, folder):
        folder.mkdir()
        return FileWriter(self.output.sink.table.spec, folder)


@pytest.fixture
def written(tmp_path):
    made = Written(tmp_path)
    yield made
    made.go.set()
    made.thread.join()


def test_a_batch_that_is_being_written_comes_before_the_close(
    written, tmp_path, eventually
):
    closing = threading.Thread(target=written.output.close)
    closing.start()
    eventually(lambda: not written.output._sink.is_open)
    with pytest.raises(RunProblem, match="is being written by"):
        written.another(tmp_path / "early")
    written.go.set()
    closing.join(DEADLINE_S)
    assert written.path.read_text() == "1\n2\n"
    assert written.output.join(0)
    written.another(tmp_path / "late").close()


def test_a_hanging_batch_does_not_hold_up_the_end_and_keeps_its_file(
    written, tmp_path, monkeypatch
):
    monkeypatch.setattr(sink_writer, "WRITE_S", 0.01)
    written.output.close()
    assert not written.output.join(0)
    with pytest.raises(RunProblem, match="is being written by"):
        written.another(tmp_path / "early")
    written.go.set()
    assert written.output.join(DEADLINE_S)
    assert written.path.read_text() == "1\n2\n"
    written.another(tmp_path / "late").close()


def test_a_batch_that_comes_after_the_close_is_refused(written, tmp_path):
    written.go.set()
    written.output.close()
    # A run that goes on has the same output, and another writer.
    state = tmp_path / "resumed"
    state.mkdir()
    again = written.open(state)
    with pytest.raises(RunProblem, match="released its sink"):
        written.write(1)
    assert written.output._sink.error is None
    again.close()


def test_what_fails_while_rows_are_received_is_told_as_it_is(written):
    def fail():
        raise OSError(errno.EMFILE, "Too many open files")

    with pytest.raises(OSError, match="Too many open files"):
        written.output._sink.take(written.writer, fail, 0)
    assert written.output._sink.error.errno == errno.EMFILE
    written.go.set()
    written.output.close()


def test_the_rows_of_a_released_sink_are_not_even_received(written):
    written.go.set()
    written.output.close()
    with pytest.raises(RunProblem, match="released its sink"):
        written.output._sink.take(written.writer, pytest.fail, 1)


def test_the_run_keeps_its_folder_while_a_sink_hangs(written, monkeypatch):
    monkeypatch.setattr(sink_writer, "WRITE_S", 0.01)
    monkeypatch.setattr(ending, "RECORDER_S", 0.01)
    outputs = (written.output,)
    run = Run(
        prepare("r", written.plan, RunOptions(), outputs=outputs),
        None,
        RunFolder(None, temporary=True),
    )
    released = threading.Event()
    end = run._execution._ending
    end.claim = SimpleNamespace(release=released.set)
    written.output.close()
    end.release()
    assert not released.is_set()
    written.go.set()
    assert released.wait(DEADLINE_S)


@pytest.mark.parametrize("told", [None, RuntimeError("it failed")])
def test_a_batch_that_is_cancelled_as_its_query_ends_is_no_failure(tmp_path, told):
    """What is raised in it is the interrupt; Spark tells what is more than that."""
    (sink,) = plan_script(SCRIPT.format(tmp_path / "rows.json"), Catalog()).sinks
    ended = Output(sink, keep=False, write=True, traced=False)
    ended._query = SimpleNamespace(isActive=False, exception=lambda: told)
    ended._sink.error = RunProblem("interrupted")
    assert ended.failure() is ended._sink.error
    ended._last_batch = True
    assert ended.failure() is (ended._sink.error if told else None)
