"""What a what-if says of its micro-batches is true of the tables that it read."""

from datetime import timedelta

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.tape.records import ROWS, RecordWriter, TapeRecord
from arroyo_nb.whatif.batch_notes import batch_notes

MINUTE = timedelta(minutes=1)
TAPE = """CREATE TABLE clicks (id INT NOT NULL)
WITH (connector = 'tape', format = 'json', path = '{path}');
"""
TICKS = """CREATE TABLE ticks WITH (
    connector = 'impulse', event_rate = 1000, message_count = 10);"""


@pytest.fixture
def tape_table(tmp_path):
    """A table of a tape whose rows arrived so far apart."""

    def make(apart_us=20_000_000, **written):
        path = tmp_path / "clicks.tape"
        with RecordWriter(path, "clicks", **written) as writer:
            for number in range(3):
                value = f'{{"id": {number}}}'.encode()
                record = TapeRecord(0, number, number, None, value)
                writer.append(record, number * apart_us)
            writer.finish()
        return table(TAPE.format(path=path))

    make.path = tmp_path / "clicks.tape"
    return make


def table(statement):
    (found,) = plan_script(statement, Catalog()).catalog.tables.values()
    return found


def test_the_batches_of_written_rows_stay_as_they_are(tape_table):
    clicks = tape_table(made_by=ROWS, together_us=None)
    assert [*batch_notes([clicks], None, "max")] == []
    assert [*batch_notes([clicks], MINUTE, "max")] == [
        "every (--every) has no effect on 'clicks': the rows come in the micro-batches "
        "that %%arroyo_rows gave them"
    ]


def test_the_batches_of_a_recording_stay_as_they_are(tape_table):
    (note,) = batch_notes([tape_table()], MINUTE, 60.0)
    assert note.endswith("in which they were recorded")


def test_what_arrived_at_once_is_cut(tape_table):
    (note,) = batch_notes([tape_table(10)], MINUTE, "max")
    assert note.startswith("a micro-batch has 1m of the stream")


def test_both_are_said_of_a_join(tape_table):
    tables = [tape_table(made_by=ROWS, together_us=None), table(TICKS)]
    cut, kept = batch_notes(tables, MINUTE, "max")
    assert cut.startswith("a micro-batch has 1m")
    assert "no effect on 'clicks'" in kept
    (large,) = batch_notes(tables, None, "max")
    assert "--every 1m" in large
    assert [*batch_notes(tables, None, 60.0)] == []


def test_a_tape_that_is_gone_is_no_error(tape_table):
    clicks = tape_table()
    tape_table.path.rename(tape_table.path.with_name("other"))
    assert len([*batch_notes([clicks], MINUTE, "max")]) == 1


def test_tables_of_one_origin_share_a_note(tape_table):
    clicks = tape_table()
    (note,) = batch_notes([clicks, clicks], MINUTE, "max")
    assert "no effect on 'clicks' and 'clicks': the rows" in note
