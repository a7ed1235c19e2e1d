"""Sinks on a real Spark: what is written, and that it is written once."""

import io
import json
import sys

import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors._line_writers import TextStreamWriter
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema, Timestamp

SCHEMA = Schema((Field("n", BIGINT), Field("s", TEXT), Field("t", Timestamp())))


@pytest.fixture(scope="module")
def rows(engine):
    """Makes a micro-batch of the numbers of a range."""

    def make(*numbers):
        return engine.worker.call(
            lambda: engine.session.range(*numbers).selectExpr(
                "id AS n", "concat('é\n\"', id) AS s", "timestamp_seconds(id) AS t"
            )
        )

    return make


@pytest.fixture
def write(engine):
    """Writes a batch on the worker, as a run does."""

    def on_worker(writer, batch, batch_id):
        engine.worker.call(lambda: writer.write(batch, batch_id))

    return on_worker


@pytest.fixture
def file_writer():
    """Makes a writer as a run's start does; a later one lets go of the one before."""
    made = []

    def make(folder):
        for before in made:
            before.close()
        options = {"path": str(folder / "out.json"), "format": "json"}
        spec = TableSpec("t", SCHEMA, options)
        made.append(CONNECTORS.get("single_file").writer(spec, folder / "state"))
        return made[-1]

    yield make
    for writer in made:
        writer.close()


def written(folder):
    text = (folder / "out.json").read_text(encoding="utf-8")
    assert text == "" or text.endswith("\n")
    return sorted(json.loads(line)["n"] for line in text.splitlines())


def test_a_line_is_a_row(tmp_path, file_writer, rows, write):
    write(file_writer(tmp_path), rows(1, 2), 0)
    line = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert line == '{"n":1,"s":"é\\n\\"1","t":"1970-01-01T00:00:01"}\n'


def test_a_line_of_changes_is_a_row_that_is_created(tmp_path, rows, write):
    options = {
        "path": str(tmp_path / "out.json"),
        "format": "debezium_json",
        "json.timestamp_format": "unix_millis",
    }
    spec = TableSpec("t", SCHEMA, options)
    writer = CONNECTORS.get("single_file").writer(spec, tmp_path / "state")
    write(writer, rows(1, 2), 0)
    writer.close()
    line = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert json.loads(line) == {
        "before": None,
        "after": {"n": 1, "s": 'é\n"1', "t": 1000},
        "op": "c",
    }


def test_a_batch_that_comes_again_takes_its_own_place(
    tmp_path, file_writer, rows, write
):
    writer = file_writer(tmp_path)
    write(writer, rows(0, 3), 0)
    write(writer, rows(3, 3), 1)
    write(writer, rows(3, 5), 2)
    # Killed after batch 2 was written, before Spark committed it: it comes again.
    again = file_writer(tmp_path)
    assert written(tmp_path) == [0, 1, 2, 3, 4]
    write(again, rows(3, 5), 2)
    write(again, rows(5, 6), 3)
    assert written(tmp_path) == [0, 1, 2, 3, 4, 5]


def test_bytes_of_a_torn_batch_are_cut_off(tmp_path, file_writer, rows, write):
    write(file_writer(tmp_path), rows(0, 2), 0)
    # Killed in the middle of batch 1.
    with (tmp_path / "out.json").open("a") as file:
        file.write('{"n":2,"s":"half')
    again = file_writer(tmp_path)
    assert written(tmp_path) == [0, 1]
    write(again, rows(2, 4), 1)
    assert written(tmp_path) == [0, 1, 2, 3]


def test_a_first_start_empties_the_file_and_a_later_one_does_not(
    tmp_path, file_writer, rows, write
):
    (tmp_path / "out.json").write_text("from another life\n")
    write(file_writer(tmp_path), rows(0, 2), 0)
    file_writer(tmp_path)
    assert written(tmp_path) == [0, 1]
    (tmp_path / "out.json").write_text("")
    with pytest.raises(RunProblem, match="shorter than what this run has written"):
        file_writer(tmp_path)


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path):
    spec = TableSpec("t", SCHEMA, {"path": str(tmp_path / "no" / "out.json")})
    with pytest.raises(RunProblem, match=r"cannot write '.*out\.json': No such file"):
        CONNECTORS.get("single_file").writer(spec, tmp_path / "state")
    spec = TableSpec("t", SCHEMA, {"path": str(tmp_path)})
    with pytest.raises(RunProblem, match="Is a directory"):
        CONNECTORS.get("single_file").writer(spec, tmp_path / "other")


def test_stdout_is_the_one_of_the_moment(rows, write, capsys, monkeypatch):
    writer = CONNECTORS.get("stdout").writer(TableSpec("t", SCHEMA), None)
    monkeypatch.setattr(sys, "stdout", later := io.StringIO())
    write(writer, rows(0, 2), 0)
    assert [json.loads(line)["n"] for line in later.getvalue().splitlines()] == [0, 1]
    given = io.StringIO()
    write(TextStreamWriter(SCHEMA, {}, given), rows(7, 8), 0)
    assert json.loads(given.getvalue())["n"] == 7
    assert capsys.readouterr().out == ""


def test_blackhole_is_sparks_own_and_computes_every_row(engine, rows, write):
    writer = CONNECTORS.get("blackhole").writer(TableSpec("t", SCHEMA), None)
    assert writer.native == "noop"
    write(writer, rows(0, 2), 0)
    broken = engine.worker.call(lambda: rows(0, 2).selectExpr("assert_true(n < 1)"))
    with pytest.raises(Exception, match="is not true"):
        write(writer, broken, 1)
