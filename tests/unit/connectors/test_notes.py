"""What a writer finds again after a kill, and what it says where it finds none."""

from __future__ import annotations

import os

import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors._notes import Notes
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import BIGINT, Field, Schema


def test_they_are_on_disk_before_they_take_the_place_of_the_last(tmp_path, monkeypatch):
    path = tmp_path / "state" / "n.json"
    notes = Notes(path)
    assert notes.read() is None
    seen, synced = [], os.fsync

    def fsync(file):
        synced(file)
        seen.append((os.fstat(file).st_size, notes.read()))

    monkeypatch.setattr(os, "fsync", fsync)
    notes.write([1])
    notes.write([1, 2])
    assert seen == [(len("[1]"), None), (len("[1, 2]"), [1])]
    assert notes.read() == [1, 2]


@pytest.mark.parametrize("found", [b"", b'{"begins": {"0"', b"\x00\xff"])
def test_a_sink_whose_notes_are_torn_is_told(tmp_path, found):
    options = {"path": str(tmp_path / "o.json"), "format": "json"}
    spec = TableSpec("t", Schema((Field("n", BIGINT),)), options)
    sink = CONNECTORS.get("single_file")
    sink.writer(spec, tmp_path / "state").close()
    (tmp_path / "state" / "batches.json").write_bytes(found)
    with pytest.raises(RunProblem, match="notes of this sink cannot be read") as caught:
        sink.writer(spec, tmp_path / "state")
    assert caught.value.hint == "start with another state folder"
