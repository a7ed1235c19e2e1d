"""One file of a state folder is damaged, of a run that writes a topic exactly once: it
resumes exactly, or names the file and what helps. It never writes other rows.

A topic cannot be put back. So a run that survived a damage is the base of the next one,
and of a run that refused the folder alone is put back.
"""

from __future__ import annotations

from itertools import count

import pytest
from damages import Damage, damages, put_back
from seeds import of_the_day
from topic_queries import COLUMNS, FIRST, HOUR, MINUTE, QUERIES, answer, told

from arroyo_nb.errors import RESTORE, ArroyoError

BATCHES, ROWS = 3, 6
FORMATS = {"updating": "debezium_json"}


class Base:
    """A run that was stopped after some batches, each of the rows of an hour.

    Parameters
    ----------
    kind
        One of the queries.
    source, sink
        Its topics.
    session, eventually
        What runs it, and waits.
    folder
        Has its state, and copies of that.
    """

    def __init__(self, kind, source, sink, session, eventually, folder):
        self._kind, self._source, self._sink = kind, source, sink
        self._session, self._eventually, self._folder = session, eventually, folder
        made = sink.sink(
            "", sink__commit_mode="exactly_once", format=FORMATS.get(kind, "json")
        )
        self._script = source.declared(COLUMNS) + made
        self._script += f"INSERT INTO out {QUERIES[kind]}"
        self._sent = []
        for _ in range(BATCHES):
            self.hour()
            if self.state.exists():
                put_back(self.state, self.older)
            assert self.resume() is None
        put_back(self.state, self.stopped)

    @property
    def state(self):
        return self._folder / "state" / "job"

    @property
    def stopped(self):
        return self._folder / "stopped"

    @property
    def older(self):
        return self._folder / "older"

    def hour(self):
        """Have the rows of one more hour come."""
        first = len(self._sent)
        start = (FIRST // HOUR + first // ROWS) * HOUR
        rows = [
            {"k": f"k{n % 2}", "n": n, "at": start + (9 + n - first) * MINUTE, "x": n}
            for n in range(first, first + ROWS)
        ]
        self._source.send(*rows)
        self._sent += rows

    def expected(self):
        """What the sink has, once all rows are read. Those of the newest hour close the
        window of the hour before."""
        if self._kind == "windowed":
            return answer(self._kind, self._sent[: 1 - ROWS])
        return answer(self._kind, self._sent)

    def resume(self):
        """Resume it, until it has read all; what it says where it does not."""
        expected = self.expected()

        def is_written():
            return told(self._kind, self._sink) == expected

        try:
            run = self._session.run(
                self._script, name="job", state_dir=self._folder / "state"
            )
            self._eventually(lambda: run.state.ended or is_written(), 60, 0.1)
            run.stop(mode="checkpoint").wait_quietly(30)
        except ArroyoError as error:
            return error
        assert run.error is not None or is_written()
        return run.error

    def damaged(self, damage):
        """What becomes of it with a damage: None where it resumed exactly; else what it
        says."""
        put_back(self.stopped, self.state)
        if not damage.apply(self.state, self.older):
            return None
        before = told(self._kind, self._sink)
        self.hour()
        error = self.resume()
        if error is not None:
            assert told(self._kind, self._sink) == before, f"other rows after: {damage}"
            assert str(self.state) in error.message, (str(damage), str(error))
            assert error.hint == RESTORE, (str(damage), str(error))
            assert error.lasting, (str(damage), str(error))
            return error
        put_back(self.stopped, self.older)
        put_back(self.state, self.stopped)
        return None


@pytest.fixture
def base(new_topic, session, eventually, tmp_path):
    """Makes the base of a kind of query."""
    numbers = count()

    def make(kind):
        folder = tmp_path / str(next(numbers))
        return Base(kind, new_topic(), new_topic(), session, eventually, folder)

    return make


def topics_notes(_):
    """What the sink has noted of its topic."""
    return "outputs/0/sink/topic.json"


def newest_offsets(base):
    return _newest(base, "offsets")


def newest_commit(base):
    return _newest(base, "commits")


def _newest(base, log):
    """The newest file of a log of the checkpoint."""
    folder = base.stopped / "outputs/0/checkpoint" / log
    number = max(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    return f"outputs/0/checkpoint/{log}/{number}"


DAMAGES = (
    pytest.param(topics_notes, "deleted", "is gone"),
    pytest.param(newest_offsets, "emptied", "is gone, empty or damaged"),
    pytest.param(newest_commit, "emptied", None),
)


@pytest.mark.parametrize(("file_of", "kind", "fault"), of_the_day(DAMAGES, "damages"))
def test_a_damaged_file_is_named_or_mended(base, file_of, kind, fault):
    made = base("stateless")
    file = file_of(made)
    error = made.damaged(Damage(file, kind, 1))
    if fault is None:
        assert error is None
    else:
        assert f"{made.state / file}' {fault}" in error.message


@pytest.mark.long("damages")
@pytest.mark.parametrize("kind", QUERIES)
def test_each_of_many_damages_is_named_or_mended(base, kind):
    made, wrong, said = base(kind), [], []
    for seed in range(30):
        # The folder has other files after each run.
        (damage,) = damages(made.stopped, 1, 2026 + seed)
        try:
            said.append(made.damaged(damage))
        except AssertionError as problem:
            wrong.append(f"{damage}: {problem}")
            made = base(kind)
        print(damage, said[-1:] if not wrong else wrong[-1])
    assert not wrong, "\n".join(wrong)
    assert any(error is None for error in said)
    assert any(error is not None for error in said)
