"""A run that goes on from a state folder that is old: what its topic knows of it."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from arroyo_nb.durable_files import read_checked, write_checked
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.sink import REMEMBERED_S, TransactionWriter


@pytest.fixture
def job(new_topic, session, eventually, tmp_path):
    """A run from topic to topic, and what it does to so many more rows."""

    class Job:
        source, made, folder = new_topic(), new_topic(), tmp_path / "state"
        script = source.declared("n INT") + made.sink(
            "", sink__commit_mode="exactly_once"
        )
        script += "INSERT INTO out SELECT n FROM t"

        def written(self, *numbers, before=0):
            """What is in the topic, once as many more are there, and those before."""
            wanted = len(self.numbers()) + before + len(numbers)
            self.source.send(*({"n": n} for n in numbers))
            run = session.run(self.script, name="job", state_dir=self.folder)
            eventually(lambda: run.state.ended or len(self.numbers()) >= wanted, 60)
            # Spark has noted the batch too.
            eventually(lambda: run.state.ended or run.rows_in >= len(numbers))
            if run.error is not None:
                raise run.error
            run.stop().wait_quietly(30)
            return self.numbers()

        def numbers(self):
            return [json.loads(r.value())["n"] for r in self.made.records()]

        def age(self):
            (notes,) = self.folder.rglob("topic.json")
            at_s = time.time() - 2 * REMEMBERED_S
            write_checked(notes, {**read_checked(notes, "notes"), "at_s": at_s})

    return Job()


def test_a_copy_that_is_older_by_one_batch_is_told(job):
    assert job.written(1) == [1]
    shutil.copytree(job.folder, copy := job.folder.with_name("copy"))
    assert job.written(2) == [1, 2]
    shutil.rmtree(job.folder)
    copy.rename(job.folder)
    with pytest.raises(RunProblem, match="resumes from an older copy of its state"):
        job.written(3)
    assert job.numbers() == [1, 2]


class Crash(Exception):
    """What ends the run."""


def crash(self, batch, sender, tasks):
    """Nothing was sent yet."""
    raise Crash


@pytest.mark.parametrize("others", [[], [9]])
def test_a_run_that_was_killed_in_its_first_batch_goes_on_days_later(
    job, monkeypatch, others
):
    with monkeypatch.context() as patched:
        patched.setattr(TransactionWriter, "_send", crash)
        with pytest.raises(RunProblem):
            job.written(1)
    job.age()
    job.made.send(*({"n": n} for n in others))
    if others:
        # Of a record that came since then nobody knows whose it is.
        with pytest.raises(RunProblem, match="cannot be verified"):
            job.written(2)
    else:
        assert job.written(2, before=1) == [1, 2]
