"""Links in the folders of tables, where only some folders are allowed."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

from arroyo_nb.allowed_roots import VARIABLE
from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors._part_files import KEY, LineParts
from arroyo_nb.connectors._partitions import TIME_PATTERN
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.tape.records import RecordWriter, TapeRecord

SCHEMA = Schema((Field("n", BIGINT),))


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """The folder that is allowed; beside it is out."""
    for name in ("in", "out"):
        (tmp_path / name / "data").mkdir(parents=True)
        for n in (1, 2):
            (tmp_path / name / f"data/{n}.json").write_text(f'{{"n": {n}}}\n')
    monkeypatch.setenv(VARIABLE, str(tmp_path / "in"))
    monkeypatch.chdir(tmp_path / "in")  # long words of messages are cut
    return tmp_path / "in"


def spec(path, **options):
    options = {"path": str(path), "format": "json", "bad_data": "fail", **options}
    return TableSpec("t", SCHEMA, options)


def read(path):
    return CONNECTORS.get("filesystem").recorder(spec(path)).chunks(None)


def numbers(path):
    return [n for chunk in read(path) for n in chunk.rows["n"].to_pylist()]


def test_a_linked_file_is_read_where_it_may_be(inside):
    (inside / "data/3.json").symlink_to(inside / "data/1.json")
    assert numbers("data") == [1, 2, 1]


def test_a_linked_file_that_leads_out_is_refused_before_anything_is_read(inside):
    (inside / "data/3.json").symlink_to(inside.parent / "out/data/1.json")
    with pytest.raises(RunProblem, match=r"data/3\.json' leads out of the folders"):
        read("data")


def test_a_file_that_becomes_a_link_is_refused_when_its_turn_comes(inside):
    chunks = read("data")
    (inside / "data/2.json").unlink()
    (inside / "data/2.json").symlink_to(inside.parent / "out/data/2.json")
    with pytest.raises(RunProblem, match=r"data/2\.json' leads out of the folders"):
        list(chunks)


def test_a_linked_folder_is_not_read(inside, monkeypatch):
    (inside / "data/more").symlink_to(inside.parent / "out/data")
    assert numbers("data") == [1, 2]
    monkeypatch.delenv(VARIABLE)
    assert numbers("data") == [1, 2]


def test_without_roots_linked_files_are_read(inside, monkeypatch):
    (inside / "data/3.json").symlink_to(inside.parent / "out/data/1.json")
    monkeypatch.delenv(VARIABLE)
    assert numbers("data") == [1, 2, 1]


def test_a_tape_is_not_read_through_a_link_out(inside):
    with RecordWriter(inside / "tape", "orders") as writer:
        writer.append(TapeRecord(0, 0, 0, None, b'{"n": 1}'), 0)
        writer.finish()
    connector = CONNECTORS.get("tape")
    connector.recorder(spec("tape"))
    (chunk,) = (inside / "tape").glob("chunk*")
    moved = shutil.move(chunk, inside.parent / "out")
    chunk.symlink_to(moved)
    with pytest.raises(RunProblem, match=f"tape/{chunk.name}' leads out of the fold"):
        connector.recorder(spec("tape"))


@pytest.fixture
def writer(inside, monkeypatch):
    """Writes rows to a folder of each town; a batch is what Spark would give."""
    monkeypatch.setattr(LineParts, "rows", lambda _, rows: rows)

    def opened():
        options = {"partitioning.fields": ("town",)}
        made = spec("sink", **options)
        return CONNECTORS.get("filesystem").writer(made, inside / "state")

    return opened


def batch(town):
    return pa.table({"value": ["{}"], KEY: [json.dumps([town])]})


def test_no_file_appears_in_a_linked_folder_that_leads_out(inside, writer):
    out = inside.parent / "out"
    written = writer()
    written.take(batch("here"), 0)
    assert len([*(inside / "sink/town=here").iterdir()]) == 1
    (inside / "sink/town=there").symlink_to(out)
    with pytest.raises(RunProblem, match=r"^'sink/town=there/.* leads out of the f"):
        written.take(batch("there"), 1)
    assert [path.name for path in out.iterdir()] == ["data"]
    # The rows are kept: they appear once the link is gone.
    (inside / "sink/town=there").unlink()
    writer().close()
    assert len([*(inside / "sink/town=there").iterdir()]) == 1


def test_what_is_not_whole_is_neither_written_nor_removed_elsewhere(inside, writer):
    writer().close()
    (notes,) = (inside / "state").glob("files.json")
    staging = json.loads(notes.read_bytes())["staging"]
    (inside / "sink" / staging).symlink_to(inside.parent / "out/data")
    with pytest.raises(RunProblem, match=r"^'sink' leads out of the folders"):
        writer()
    assert len([*(inside.parent / "out/data").iterdir()]) == 2


def test_folders_by_time_lie_in_the_folder_of_the_table():
    def planned(pattern):
        table = (
            "CREATE TABLE t (n BIGINT) WITH (connector = 'filesystem', type = 'sink', "
            f"path = 'sink', format = 'json', '{TIME_PATTERN}' = '{pattern}')"
        )
        return plan_script(table, Catalog())

    planned("%Y/..%m/%d..")
    with pytest.raises(CatalogProblem, match="the folders of a table lie in its 'pa"):
        planned("%Y/../../%m")
