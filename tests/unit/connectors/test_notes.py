"""What a writer finds again after a kill, and what it says where it finds none."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.errors import RESTORE, RunProblem, StateProblem
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.sink_notes import Notes, ResumePoint


def test_they_are_on_disk_before_they_take_the_place_of_the_last(tmp_path, monkeypatch):
    path = tmp_path / "state" / "n.json"
    notes = Notes(path)
    assert notes.read() is None
    seen, synced = [], os.fsync

    def fsync(file):
        synced(file)
        seen.append((os.fstat(file).st_size > len('{"n": 1}'), notes.read()))

    monkeypatch.setattr(os, "fsync", fsync)
    notes.write({"n": 1})
    notes.write({"n": 2})
    assert seen == [(True, None), (True, {"n": 1})]
    assert notes.read() == {"n": 2}


def writer_of(tmp_path, resume=None):
    options = {"path": str(tmp_path / "o.json"), "format": "json"}
    schema = Schema((Field("n", BIGINT),))
    spec = TableSpec("t", schema, options, resume=resume)
    return CONNECTORS.get("single_file").writer(spec, tmp_path / "state")


@pytest.mark.parametrize(
    "found",
    [b"", b'{"begins": {"0"', b"\x00\xff", b'{"end": 3, "check": "0"}', b"[]"],
)
def test_a_sink_whose_notes_are_damaged_names_them_and_what_helps(tmp_path, found):
    writer_of(tmp_path).close()
    path = tmp_path / "state" / "batches.json"
    path.write_bytes(found)
    with pytest.raises(StateProblem) as caught:
        writer_of(tmp_path)
    assert str(path) in caught.value.message
    assert "which rows it has written" in caught.value.message
    assert caught.value.hint == RESTORE


def test_notes_of_an_earlier_version_have_no_check_sum(tmp_path):
    path = tmp_path / "n.json"
    path.write_text('{"end": 3}')
    assert Notes(path).read() == {"end": 3}


def test_notes_that_are_gone_do_not_empty_the_file(tmp_path):
    written = tmp_path / "o.json"
    written.write_text("rows of before\n")
    resume = ResumePoint(2, tmp_path / "checkpoint" / "offsets" / "2")
    with pytest.raises(StateProblem, match=r"batches.json' is gone"):
        writer_of(tmp_path, resume)
    assert written.read_text() == "rows of before\n"
    # A sink of a fork begins in mid-stream.
    writer_of(tmp_path, replace(resume, first_batch=2)).close()


def test_notes_are_as_new_as_the_checkpoint(tmp_path):
    notes, offsets = tmp_path / "n.json", tmp_path / "checkpoint" / "offsets" / "5"
    resume = ResumePoint(5, offsets, planned=True)
    resume.check(notes, 4)
    resume.check(notes, 5)
    with pytest.raises(StateProblem, match=r"n.json' is an older copy.*batch 3"):
        resume.check(notes, 3)
    with pytest.raises(StateProblem, match=r"checkpoint' is an older copy.*batch 6"):
        resume.check(notes, 6)
    resume.check(notes, 6, rewritable=[5, 6])
    unplanned = replace(resume, planned=False)
    unplanned.check(notes, 4)
    with pytest.raises(StateProblem, match=r"offsets/5' is gone"):
        unplanned.check(notes, 5)
    unplanned.check(notes, 5, rewritable=[5])


def test_a_full_disk_is_that_of_the_state_folder(tmp_path, monkeypatch):
    writer = writer_of(tmp_path)
    writer.close()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunProblem, match=r"disk of the state folder is full") as caught:
        Notes(tmp_path / "state" / "batches.json").write({"end": 1})
    assert "batches.json" in caught.value.message
    assert "make space" in caught.value.hint
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == [
        "batches.json"
    ]
