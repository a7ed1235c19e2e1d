"""Spark says that a disk is full, and not which: the fullest one is named."""

from types import SimpleNamespace

import pytest

from arroyo_nb.run import diagnosis as run_diagnosis
from arroyo_nb.run.diagnosis import Diagnosis

FULL = RuntimeError("java.io.IOException: No space left on device")


@pytest.mark.parametrize("fullest", ["state", "work"])
def test_the_fullest_disk_is_named(tmp_path, monkeypatch, fullest):
    engine = SimpleNamespace(work=tmp_path / "work")
    diagnosis = Diagnosis("r", tmp_path / "state", engine, lambda: True)
    free = {tmp_path / "state": 9, tmp_path / "work": 9} | {tmp_path / fullest: 0}
    monkeypatch.setattr(run_diagnosis, "free_bytes", free.__getitem__)
    problem = diagnosis.disk(FULL)
    assert str(tmp_path / fullest) in problem.message
    hint = "state_dir=" if fullest == "state" else "TMPDIR"
    assert "make space there" in problem.hint
    assert hint in problem.hint
    assert diagnosis.disk(RuntimeError("another")) is None
