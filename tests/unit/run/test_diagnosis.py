"""The cause of a failure, where what Spark says is only its symptom."""

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


@pytest.mark.parametrize("how", ["out of memory", "killed by SIGKILL"])
def test_who_ran_out_of_memory_is_told_how_to_get_more(tmp_path, monkeypatch, how):
    monkeypatch.setenv("ARROYO_NB_HEAP", "3g")
    engine = SimpleNamespace(
        died=lambda within_s: f"its Java process has ended ({how})"
    )
    problem = Diagnosis("r", tmp_path, engine, lambda: False).death(
        RuntimeError("gone")
    )
    assert problem.message == f"the engine died: its Java process has ended ({how})"
    more = (
        "Spark had 3,072 MiB: set ARROYO_NB_HEAP=6144m to double it; then run it again"
    )
    assert problem.hint.startswith(more) == (how == "out of memory")
    assert "%arroyo resume r" in problem.hint
