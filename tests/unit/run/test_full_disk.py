"""Spark says that a disk is full, and not which: the fullest one is named."""

from types import SimpleNamespace

import pytest

from arroyo_nb.run import execution
from arroyo_nb.run.execution import Execution
from arroyo_nb.run.prepare import RunFolder

FULL = RuntimeError("java.io.IOException: No space left on device")


@pytest.mark.parametrize("fullest", ["state", "work"])
def test_the_fullest_disk_is_named(tmp_path, monkeypatch, fullest):
    run = SimpleNamespace(
        _place=RunFolder(tmp_path / "state"),
        _engine=SimpleNamespace(work=tmp_path / "work"),
    )
    free = {tmp_path / "state": 9, tmp_path / "work": 9} | {tmp_path / fullest: 0}
    monkeypatch.setattr(execution, "free_bytes", free.__getitem__)
    problem = Execution._full_disk(run, FULL)
    assert str(tmp_path / fullest) in problem.message
    hint = "state_dir=" if fullest == "state" else "TMPDIR"
    assert "make space there" in problem.hint
    assert hint in problem.hint
    assert Execution._full_disk(run, RuntimeError("another")) is None
