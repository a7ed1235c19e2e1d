"""One file of a state folder is damaged, of a run that writes a topic exactly once: it
resumes exactly, or names the file and what helps."""

from __future__ import annotations

import json
import shutil

import pytest
from damages import Damage, damages

from arroyo_nb.errors import RESTORE, ArroyoError

BATCHES, MORE = 3, [7, 8]


@pytest.fixture
def stopped(new_topic, session, eventually, tmp_path):
    """Makes a run that has written three batches; gives its folder, and what becomes of
    it when it is run again with more rows to read."""

    def make(number):
        source, sink, folder = new_topic(), new_topic(), tmp_path / f"state-{number}"
        script = source.declared("n INT")
        script += sink.sink("", sink__commit_mode="exactly_once")
        script += "INSERT INTO out SELECT n FROM t"

        def numbers():
            return [json.loads(record.value())["n"] for record in sink.records()]

        def resumed():
            source.send(*({"n": n} for n in MORE))
            try:
                run = session.run(script, name="job", state_dir=folder)
                eventually(lambda: run.state.ended or len(numbers()) > BATCHES + 1)
                run.stop().wait_quietly(30)
            except ArroyoError as error:
                return error, numbers()
            return run.error, numbers()

        run = session.run(script, name="job", state_dir=folder)
        commits = folder / "job/outputs/0/checkpoint/commits"
        for batch in range(BATCHES):
            source.send({"n": batch})
            eventually(lambda: run.state.ended or (commits / str(batch)).exists())  # noqa: B023
            if batch == 0:
                shutil.copytree(folder / "job", tmp_path / f"older-{number}")
        run.stop().wait_quietly(30)
        assert numbers() == list(range(BATCHES))
        return folder / "job", tmp_path / f"older-{number}", resumed

    return make


def outcome(made, damage):
    """What a run says with a damage; None where it resumed exactly. It never writes
    other rows."""
    folder, older, resumed = made
    damage.apply(folder, older)
    error, numbers = resumed()
    before = list(range(BATCHES))
    if error is None:
        assert numbers == before + MORE, str(damage)
    else:
        assert numbers == before, str(damage)
        assert str(folder) in error.message, (str(damage), str(error))
        assert error.hint == RESTORE, (str(damage), str(error))
    return error


@pytest.mark.parametrize(
    ("file", "kind", "fault"),
    [
        ("outputs/0/sink/topic.json", "deleted", "is gone"),
        ("outputs/0/checkpoint/offsets/2", "emptied", "is gone, empty or damaged"),
        ("outputs/0/checkpoint/commits/2", "emptied", None),
    ],
)
def test_a_damaged_file_is_named_or_mended(stopped, file, kind, fault):
    made = stopped(0)
    error = outcome(made, Damage(file, kind, 1))
    if fault is None:
        assert error is None
    else:
        assert f"{made[0] / file}' {fault}" in error.message


@pytest.mark.long
def test_each_of_many_damages_is_named_or_mended(stopped):
    chosen = damages(stopped(0)[0], 30, 2026)
    said = [outcome(stopped(n), damage) for n, damage in enumerate(chosen, 1)]
    assert any(error is None for error in said)
    assert any(error is not None for error in said)
