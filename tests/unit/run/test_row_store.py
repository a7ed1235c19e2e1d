"""What an output produced, kept on the disk: whole, lazy, bounded, exact again."""

import collections
import os
import shutil
import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pytest
from damages import KINDS, Damage, files, put_back

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.results import changes, row_store
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.run.results.row_store import RowStore
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema

NUMBERS = Schema((Field("n", BIGINT),))
PAIRS = Schema((Field("k", TEXT), Field("v", BIGINT)))
LARGE = 2**30


def rows(*values):
    return pa.table({"n": pa.array(values, pa.int64())})


def pairs(*changes_):
    keys, values, weights = zip(*changes_, strict=True)
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "v": pa.array(values, pa.int64()),
            WEIGHT: pa.array(weights, pa.int64()),
            ROW_ID: pa.array([hash(key) for key in keys], pa.int64()),
        }
    )


def kept(folder, budget=LARGE, *, limit_rows=5):
    preview = Preview(NUMBERS, limit_rows=limit_rows)
    preview.keep_in(folder, budget)
    return preview


def numbers(preview):
    return preview.table()["n"].to_pylist()


def test_every_row_is_kept_though_few_are_in_memory(tmp_path):
    preview = kept(tmp_path / "rows")
    for batch_id in range(100):
        preview.put(rows(*range(batch_id * 10, batch_id * 10 + 10)), batch_id)
    assert numbers(preview) == list(range(1000))
    assert (preview.total_rows, preview.kept_rows, preview.cut_rows) == (1000, 1000, 0)
    assert preview.cut_text == ""
    assert preview.changelog()["batch"].to_pylist()[-11:] == [98] + [99] * 10
    assert [len(batch) for batch in preview.batches()] == [10] * 100
    assert preview.newest(2) == [(999,), (998,)]


def test_tables_are_mapped_and_stay_readable_when_files_go(tmp_path):
    preview = kept(tmp_path / "rows")
    preview.put(rows(*range(1_000_000)), 0)
    before = pa.total_allocated_bytes()
    table = preview.table()
    assert pa.total_allocated_bytes() - before < 10_000, "nothing is read"
    preview.detach()
    for path in (tmp_path / "rows").iterdir():
        path.unlink()
    assert table["n"].to_pylist()[-1] == numbers(preview)[-1] == 999_999


@pytest.mark.parametrize("again", [False, True], ids=["same process", "another"])
def test_a_batch_that_comes_again_takes_the_place_of_its_first_try(tmp_path, again):
    preview = kept(tmp_path / "rows")
    for batch_id in range(4):
        preview.put(rows(batch_id, batch_id), batch_id)
    mapped = preview.table()
    if again:
        preview.close()
        preview = kept(tmp_path / "rows")
        assert (preview.total_rows, numbers(preview)) == (8, [0, 0, 1, 1, 2, 2, 3, 3])
        assert preview.newest(1) == [(3,)]
    preview.put(rows(33), 3)
    assert numbers(preview) == [0, 0, 1, 1, 2, 2, 33]
    # A checkpoint may be older than the newest rows.
    preview.put(rows(11), 1)
    preview.put(rows(22), 2)
    assert numbers(preview) == [0, 0, 11, 22]
    assert (preview.total_rows, preview.cut_rows) == (4, 0)
    assert preview.changelog()["batch"].to_pylist() == [0, 0, 1, 2]
    assert mapped["n"].to_pylist()[-1] == 3, "what was mapped is as it was"
    preview.close()
    assert numbers(kept(tmp_path / "rows")) == [0, 0, 11, 22]


def test_above_the_budget_the_oldest_go_and_both_numbers_are_told(tmp_path):
    preview = kept(tmp_path / "rows", 80_000)
    for batch_id in range(200):
        preview.put(rows(*range(batch_id * 100, batch_id * 100 + 100)), batch_id)
    files = sum(path.stat().st_size for path in (tmp_path / "rows").iterdir())
    assert files <= 80_000
    found = numbers(preview)
    assert found == list(range(20_000 - len(found), 20_000))
    assert len(found) > 5_000
    assert (preview.kept_rows, preview.cut_rows) == (len(found), 20_000 - len(found))
    told = f"the newest {len(found):,} of 20,000 rows"
    assert preview.cut_text.startswith(told)
    assert "78.1 KB" in preview.cut_text
    preview.close()
    later = kept(tmp_path / "rows", 80_000)
    assert (later.total_rows, numbers(later)) == (20_000, found)


def test_reading_goes_on_while_files_go(tmp_path):
    preview = kept(tmp_path / "rows", 8_000)
    for batch_id in range(5):
        preview.put(rows(*[batch_id] * 100), batch_id)
    reader = preview.batches()
    for batch_id in range(5, 50):
        preview.put(rows(*[batch_id] * 100), batch_id)
    assert pa.Table.from_batches(list(reader))["n"].unique().to_pylist() == [*range(5)]


@pytest.mark.parametrize("cut_bytes", [1, 7, 40, 200])
def test_a_torn_end_loses_the_last_batch_only(tmp_path, cut_bytes):
    store = RowStore(tmp_path / "rows", rows().schema, LARGE)
    for batch_id in range(3):
        part = rows(*[batch_id] * 3)
        store.append(pa.concat_tables([part, part]), batch_id, 6)
    del store  # killed: the file has no end
    (path,) = (tmp_path / "rows").glob("*.arrow")
    os.truncate(path, path.stat().st_size - cut_bytes)
    preview = kept(tmp_path / "rows")
    assert numbers(preview) == [0] * 6 + [1] * 6
    assert "12 of 18 rows: some after micro-batch 1 were not" in preview.cut_text
    preview.put(rows(2), 2)
    assert numbers(preview) == [0] * 6 + [1] * 6 + [2]
    assert (preview.total_rows, preview.cut_text) == (13, "")


def test_rows_of_other_columns_are_removed(tmp_path):
    preview = kept(tmp_path / "rows")
    for batch_id in range(3):
        preview.put(rows(batch_id), batch_id)
        preview.close()
    other = Preview(PAIRS)
    other.keep_in(tmp_path / "rows", LARGE)
    assert (other.total_rows, other.table().num_rows) == (0, 0)


def test_a_full_disk_ends_the_keeping_and_not_the_run(tmp_path, monkeypatch):
    preview = kept(tmp_path / "rows", limit_rows=5)
    preview.put(rows(*range(10)), 0)
    usage = collections.namedtuple("usage", "total used free")
    nearly_full = usage(2**40, 2**40, 2**20)
    monkeypatch.setattr(row_store.shutil, "disk_usage", lambda path: nearly_full)
    for batch_id in range(1, 4):
        preview.put(rows(*range(batch_id * 10, batch_id * 10 + 10)), batch_id)
    assert numbers(preview) == list(range(10))
    assert preview.newest(1) == [(39,)]
    assert (preview.total_rows, preview.kept_rows) == (40, 10)
    assert "the first 10 of 40 rows" in preview.cut_text
    assert "the disk is nearly full" in preview.cut_text
    preview.close()
    monkeypatch.undo()
    for batch_id in (4, 5):  # of two processes, each after the one before
        later = kept(tmp_path / "rows")
        later.put(rows(batch_id * 10), batch_id)
        later.close()
        expected = [*range(10), *range(40, batch_id * 10 + 1, 10)]
        assert numbers(later) == expected
        assert (later.total_rows, later.cut_rows) == (37 + batch_id, 30)
        told = f"{len(expected)} of {37 + batch_id} rows: some after micro-batch 0 were"
        assert later.cut_text.startswith(told)


def write_some(folder, *, batches=range(8), kind=Preview, budget=LARGE):
    """A store whose files have a micro-batch each; every third is empty."""
    schema = NUMBERS if kind is Preview else PAIRS
    preview = kind(schema, limit_rows=3)
    preview.keep_in(folder, budget)
    for batch_id in batches:
        values = [] if batch_id % 3 == 2 else [batch_id * 2, batch_id * 2 + 1]
        if kind is Preview:
            preview.put(rows(*values), batch_id)
        else:
            preview.take(updates(values), batch_id)
        preview.close()
    return preview


def updates(values):
    """Each value takes the place of the one four before it."""
    made = [(f"k{v % 4}", v, 1) for v in values]
    before = [(f"k{v % 4}", v - 4, -1) for v in values if v - 4 in WRITTEN]
    return pairs(*before, *made) if values else pairs(("k", 0, 1)).slice(0, 0)


WRITTEN = {v for b in range(20) if b % 3 != 2 for v in (b * 2, b * 2 + 1)}


@pytest.mark.parametrize("kind", [Preview, ChangesPreview])
@pytest.mark.parametrize("then", [range(8, 10), ()], ids=["goes on", "has ended"])
def test_what_a_damaged_folder_misses_is_told(tmp_path, kind, then):
    """All rows are there, or it is told that some are not; none is wrong."""
    folder, older = tmp_path / "rows", tmp_path / "older"
    write_some(folder, batches=range(5), kind=kind)
    shutil.copytree(folder, older)
    write_some(folder, batches=range(5, 8), kind=kind)
    shutil.copytree(folder, tmp_path / "whole")
    whole = write_some(folder, batches=then, kind=kind)
    log, result = whole.changelog().to_pylist(), whole.table()
    assert whole.cut_text == ""
    told = 0
    for number, name in enumerate(files(tmp_path / "whole")):
        for damage in (Damage(name, kind_, number) for kind_ in KINDS):
            put_back(tmp_path / "whole", folder)
            damage.apply(folder, older)
            preview = write_some(folder, batches=then, kind=kind)
            found = preview.changelog().to_pylist()
            assert [change for change in log if change in found] == found, damage
            assert found == log or preview.cut_text, damage
            told += bool(preview.cut_text)
            if kind is ChangesPreview:
                with suppress(RunProblem):
                    assert preview.table() == result, damage
    assert told


def test_a_folder_that_is_gone_is_told(tmp_path):
    write_some(tmp_path / "rows")
    shutil.rmtree(tmp_path / "rows")
    for batch_id, there in (9, 2), (10, 4):  # of two processes
        preview = write_some(tmp_path / "rows", batches=[batch_id])
        told = f"{there} of {there} rows and an unknown number more: some of the first"
        assert preview.cut_text.startswith(told)
    updating = write_some(tmp_path / "changes", batches=[3], kind=ChangesPreview)
    with pytest.raises(RunProblem, match="an unknown number more: some of the first"):
        updating.table()


@pytest.mark.parametrize("kept_in_memory", [True, False])
def test_a_result_whose_changes_are_not_all_kept_is_refused(tmp_path, kept_in_memory):
    """The result does not fit into the budget: 20 keys in files of 125 bytes."""
    preview = ChangesPreview(PAIRS, limit_rows=3)
    if not kept_in_memory:
        preview.keep_in(tmp_path / "rows", 8_000)
    for batch_id in range(40):
        preview.take(pairs((f"k{batch_id}", batch_id, 1)), batch_id)
    assert preview.table().num_rows == 40
    preview.close()
    later = ChangesPreview(PAIRS, limit_rows=3)
    if not kept_in_memory:
        later.keep_in(tmp_path / "rows", 8_000)
    later.take(pairs(("k3", 3, -1)), 40)
    assert later.result_rows is None
    with pytest.raises(RunProblem, match="not all of these are kept"):
        later.table()


def test_a_table_is_exact_while_files_go(tmp_path):
    """A micro-batch that comes while the changes are read lets the oldest go."""
    preview = ChangesPreview(PAIRS, limit_rows=3)
    preview.keep_in(tmp_path / "rows", 100_000)
    for batch_id in range(100):
        preview.take(pairs((f"k{batch_id % 7}", batch_id, 1)), batch_id)
    changes_ = preview._store.changes()
    assert preview._store.let_go == 0
    for batch_id in range(100, 300):
        preview.take(pairs((f"k{batch_id % 7}", batch_id, 1)), batch_id)
    assert preview._store.let_go > 0
    assert preview._folded(changes_).count == 100
    assert preview._folded(preview._store.changes()).count == 300


FULL = """
import resource, signal, sys
import pyarrow as pa
from pathlib import Path
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import BIGINT, Field, Schema
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
preview = Preview(Schema((Field("n", BIGINT),)), limit_rows=5)
preview.keep_in(Path(sys.argv[1]), 2**30)
for batch_id in range(20):
    preview.put(pa.table({"n": pa.array(range(1000), pa.int64())}), batch_id)
print(preview.table().num_rows, preview.total_rows, preview.cut_text)
"""


def test_a_write_that_fails_half_way_leaves_whole_batches(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "rows")],
        capture_output=True,
        text=True,
        check=True,
    )
    there, total, told = done.stdout.split(" ", 2)
    assert int(total) == 20_000
    assert 0 < int(there) < 20_000
    assert int(there) % 1000 == 0
    assert "cannot be written" in told


def test_a_result_larger_than_memory_holds_is_made_of_its_changes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(changes, "RELATION_ROWS", 2)
    monkeypatch.setattr(changes, "FOLDED_ROWS", 3)
    preview = ChangesPreview(PAIRS, limit_rows=3)
    preview.keep_in(tmp_path / "rows", LARGE)
    preview.take(pairs(*((k, 1, 1) for k in "abcde")), 0)
    preview.take(pairs(("b", 1, -1), ("b", 2, 1)), 1)
    preview.take(pairs(("a", 1, -1)), 2)
    expected = [("b", 2), ("c", 1), ("d", 1), ("e", 1)]
    assert [*map(tuple, map(dict.values, preview.table().to_pylist()))] == expected
    assert (preview.result_rows, preview.total_rows, preview.cut_rows) == (4, 7, 0)
    assert preview.changelog()["op"].to_pylist() == [*"ccccc", "u", "d"]
    preview.take(pairs(("a", 1, -1), ("e", 1, -1)), 2)  # it comes again
    assert preview.table()["k"].to_pylist() == ["b", "c", "d"]
    assert preview.result_rows == 3
    preview.close()
    later = ChangesPreview(PAIRS, limit_rows=3)
    later.keep_in(tmp_path / "rows", LARGE)
    later.take(pairs(("c", 1, -1)), 2)
    assert later.table()["k"].to_pylist() == ["a", "b", "d", "e"]
    assert later.result_rows == 4


def test_changes_above_the_budget_leave_their_rows(tmp_path):
    preview = ChangesPreview(PAIRS, limit_rows=10)
    preview.keep_in(tmp_path / "rows", 60_000)
    there = {}
    for batch_id in range(300):
        made = []
        for number in range(10):
            key = f"k{(batch_id * 7 + number) % 50}"
            if key in there:
                made.append((key, there[key], -1))
            there[key] = batch_id * 10 + number
            made.append((key, there[key], 1))
        preview.take(pairs(*made), batch_id)
    assert preview.cut_rows > 0
    assert preview.changelog().num_rows == preview.kept_rows
    assert dict(zip(*preview.table().to_pydict().values(), strict=True)) == there
    preview.close()
    later = ChangesPreview(PAIRS, limit_rows=10)
    later.keep_in(tmp_path / "rows", 60_000)
    assert later.total_rows == preview.total_rows
    assert dict(zip(*later.table().to_pydict().values(), strict=True)) == there
    later._relation = changes._ChangedRows(later._nothing.rows, is_large=True)
    assert dict(zip(*later.table().to_pydict().values(), strict=True)) == there
