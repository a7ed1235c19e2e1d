"""Emissions: in order, held back, stopped, and what of them fails. Onto tapes, or to a
target that takes its time."""

from __future__ import annotations

import itertools
import threading
import time
from collections import namedtuple
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.formats.json.payload_writer import DeclaredPayloads
from arroyo_nb.kafka.emit.rows import RowRecords
from arroyo_nb.run import emission
from arroyo_nb.run.emission import Emission, EmissionPace
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.schema import TEXT, Field, Schema
from arroyo_nb.session import Session
from arroyo_nb.tape import ARRIVAL
from arroyo_nb.tape.records import RecordTape


@pytest.fixture
def session():
    with Session() as session:
        yield session


def chunks(path):
    return [rows.to_pylist() for _, rows in RecordTape(path, "a").chunks()]


def values(path):
    return [row["value"] for rows in chunks(path) for row in rows]


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1, "b": "x"}, {"a": None, "b": "é"}],
        ({"a": 1, "b": "x"}, {"a": None, "b": "é"}),
        [Pair(1, "x"), Pair(None, "é")],
        iter([(1, "x"), [None, "é"]]),
        pa.table({"a": [1, None], "b": ["x", "é"]}),
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": ["x", "é"]}),
        [b'{"a":1,"b":"x"}', '{"a":null,"b":"é"}'],
    ],
)
def test_rows_of_any_kind_are_sent(session, tmp_path, rows):
    made = session.emit(tmp_path / "a", rows, columns=("a", "b"), wait=True)
    expected = [b'{"a":1,"b":"x"}', '{"a":null,"b":"é"}'.encode()]
    assert values(tmp_path / "a") == expected
    assert (made.rows, made.state) == (2, RunState.FINISHED)


def test_a_record_has_its_key_and_its_time(session, tmp_path):
    at = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [{"k": "a", "at": at}, {"k": 7, "at": 1500}, {"k": None, "at": None}]
    began_ms = time.time() * 1000
    session.emit(str(tmp_path / "b"), rows, key="k", timestamp="at")
    (found,) = chunks(tmp_path / "b")
    assert [row["key"] for row in found] == [b"a", b"7", None]
    assert [row["timestamp"] for row in found][:2] == [int(at.timestamp() * 1000), 1500]
    assert found[2]["timestamp"] >= int(began_ms)
    assert [(row["partition"], row["offset"]) for row in found] == [
        (0, 0),
        (0, 1),
        (0, 2),
    ]


def test_rows_that_are_all_there_are_one_chunk(session, tmp_path):
    session.emit(tmp_path / "a", [{"n": n} for n in range(3000)])
    assert [len(rows) for rows in chunks(tmp_path / "a")] == [3000]


def test_of_a_rate_a_tape_says_when_rows_came_and_nobody_waits(session, tmp_path):
    made = session.emit(
        tmp_path / "a", [{"n": n} for n in range(40)], rate=8, wait=True
    )
    assert made.rows == 40
    found = chunks(tmp_path / "a")
    assert [len(rows) for rows in found] == [2] * 20
    arrivals = [row[ARRIVAL] for rows in found for row in rows]
    assert (arrivals[-1] - arrivals[0]).total_seconds() == 39 / 8


def test_a_declared_tape_has_the_rows_of_its_table(session, tmp_path):
    session.run(
        "CREATE TABLE t (id INT NOT NULL, at TIMESTAMP, o BIGINT METADATA FROM "
        f"'offset_id') WITH (connector = 'tape', path = '{tmp_path / 'a'}', "
        "format = 'json')"
    )
    with pytest.raises(RunProblem, match="row 1: the table 't' has no column 'o'"):
        session.emit("t", [{"id": 1, "o": 2}])
    with pytest.raises(RunProblem, match="no column 'nothing'"):
        session.emit("t", [{"id": 1}], key="nothing")
    session.emit("t", [(1, datetime(2024, 1, 1))])
    assert values(tmp_path / "a") == [b'{"id":1,"at":"2024-01-01T00:00:00"}']
    with pytest.raises(RunProblem, match="there is something at"):
        session.emit("t", [(2, None)])


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ({"a": 1}, {}, "a value of type 'dict' cannot be emitted"),
        ("abc", {}, "a value of type 'str' cannot be emitted"),
        (5, {}, "a value of type 'int' cannot be emitted"),
        ([{"a": 1}], {"rate": 0}, "the rate 0 is not a positive number"),
        ([{"a": 1}], {"rate": float("inf")}, "the rate inf is not a positive number"),
    ],
)
def test_what_cannot_be_sent_is_told_at_once(session, tmp_path, rows, options, said):
    with pytest.raises(RunProblem, match=said):
        session.emit(tmp_path / "a", rows, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("bad", "options", "said"),
    [
        ((1, 2), {}, "row 3: a row has 2 values, and 0 columns have names"),
        ({"a": object()}, {}, "row 3: a object has no form in JSON"),
        ({"b": 1}, {"key": "a"}, "row 3: a row has no column 'a'"),
        ({"a": "x"}, {"timestamp": "a"}, "row 3: 'a' is 'x', which is no time of a"),
        ({"a": -1}, {"timestamp": "a"}, "row 3: 'a' is -1, which is no time of a"),
    ],
)
def test_a_bad_row_is_told_and_half_a_tape_is_none(
    session, tmp_path, bad, options, said
):
    rows = [{"a": 1}, {"a": 2}, bad, {"a": 4}]
    with pytest.raises(RunProblem) as told:
        session.emit(tmp_path / "a", rows, **options)
    assert str(told.value).startswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("bad", "options"),
    [
        ("\ud800", {}),
        ({"a": "\ud800"}, {}),
        ({"\ud800": 1}, {}),
        ({"a": 1, "b": "\ud800"}, {"key": "b"}),
    ],
)
def test_a_text_that_has_no_bytes_is_told(session, tmp_path, bad, options):
    with pytest.raises(RunProblem, match="row 1: a text has half of a pair of surr"):
        session.emit(tmp_path / "a", [bad], **options)


def test_an_error_with_an_odd_name_can_be_shown(session, tmp_path):
    with pytest.raises(RunProblem) as told:
        session.emit(tmp_path / "a", [{"a": 1}], key="\udfff")
    assert "no column '\\udfff'" in str(told.value)
    str(told.value).encode()


def test_no_row_is_asked_for_where_there_is_no_target(session, tmp_path):
    (tmp_path / "a").mkdir()
    asked = []
    with pytest.raises(RunProblem, match="there is something at"):
        session.emit(tmp_path / "a", map(asked.append, range(10)))
    assert asked == []


def test_what_an_iterator_raises_is_told_at_the_handle(session, tmp_path):
    def rows():
        yield {"a": 1}
        raise ZeroDivisionError("gone")

    made = session.emit(tmp_path / "a", rows())
    assert made.wait_quietly(20)
    assert made.state is RunState.FAILED
    with pytest.raises(RunProblem, match=r"after row 1: ZeroDivisionError\('gone'\)"):
        made.wait()
    assert isinstance(made.error.__cause__, ZeroDivisionError)


def test_texts_and_bytes_are_sent_as_they_are_to_a_table_too(session, tmp_path):
    declare(session, tmp_path, "id INT NOT NULL, name TEXT")
    rows = ['{"id": 1}', {"id": 2, "name": "b"}, b"{no", (3, "c"), '{"nope": 1}']
    session.emit("t", rows)
    assert values(tmp_path / "a") == [
        b'{"id": 1}',
        b'{"id":2,"name":"b"}',
        b"{no",
        b'{"id":3,"name":"c"}',
        b'{"nope": 1}',
    ]


def test_a_text_has_no_key_but_that_of_its_table(session, tmp_path):
    declare(session, tmp_path, "id TEXT")
    with pytest.raises(RunProblem, match="row 1: a text has no columns, and so"):
        session.emit("t", ["{}"], key="id")
    payloads = DeclaredPayloads(
        "t", Schema((Field("id", TEXT),)), {"format": "json"}, read=False
    )
    made = RowRecords(payloads, ("id",), "id", None, {"id", None})
    assert made(["{}", {"id": "a"}]) == [
        (b"{}", None, None),
        (b'{"id":"a"}', b"a", None),
    ]


class Odd(dict):
    def keys(self):
        raise LookupError("odd")


@pytest.mark.parametrize(
    ("bad", "said", "hint"),
    [
        (
            5,
            "row 2: a value of type int is not a row of 't'",
            "emit mappings, as in {'id': ...}, or",
        ),
        (None, "row 2: a value of type NoneType is no", "emit mappings"),
        ({1: 2}, "row 2: the table 't' has no column '1'", ""),
        ({"id": "x"}, "row 2: the column 'id' of 't' is INT: ", ""),
        (
            Odd(id=1),
            "row 2: it cannot be written as a record, a value of type Odd",
            "emit m",
        ),
        ((1, 2, 3), "row 2: a row has 3 values, and 1 columns have names", "emit mapp"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_row_that_makes_no_record_is_named(session, tmp_path, bad, said, hint):
    declare(session, tmp_path, "id INT")
    with pytest.raises(RunProblem) as told:
        session.emit("t", [{"id": 1}, bad])
    assert told.value.message.startswith(said)
    assert (told.value.hint or "").startswith(hint)


def declare(session, tmp_path, columns):
    session.run(
        f"CREATE TABLE t ({columns}) WITH (connector = 'tape', format = 'json', "
        f"path = '{tmp_path / 'a'}')"
    )


def test_one_that_never_ends_is_stopped_and_what_it_sent_stays(
    session, tmp_path, eventually
):
    made = session.emit(tmp_path / "a", ({"n": n} for n in itertools.count()))
    eventually(lambda: made.rows > 1000)
    assert made.stop().wait(20)
    assert made.state is RunState.STOPPED
    assert len(values(tmp_path / "a")) == made.rows


def test_it_ends_with_the_session(tmp_path, eventually):
    with Session() as session:
        made = session.emit(tmp_path / "a", ({"n": n} for n in itertools.count()))
        eventually(lambda: made.rows)
    assert made.state is RunState.STOPPED
    assert (tmp_path / "a").exists()


def test_one_whose_iterator_hangs_is_stopped_at_once(session, tmp_path, eventually):
    go_on = threading.Event()
    closed = []

    def rows():
        try:
            yield {"n": 1}
            go_on.wait(60)
            yield {"n": 2}
        finally:
            closed.append(True)

    made = session.emit(tmp_path / "a", rows())
    eventually(lambda: made.rows == 1)  # it is not held back until there are more
    began_s = time.monotonic()
    told = repr(made.stop())  # it is on its way to its end, or there
    assert "stopping" in told or "stopped" in told
    assert made.wait(20)
    assert time.monotonic() - began_s < 5
    go_on.set()
    eventually(lambda: closed)
    assert values(tmp_path / "a") == [b'{"n":1}']


class Slow:
    """Takes what it is given when it is let."""

    def __init__(self):
        self.rows = 0
        self.open = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def send(self, records, stopped):
        while not self.open.wait(0.01) and not stopped():
            pass
        self.rows += len(records)

    def finish(self, stopped, *, failed=False):
        pass


def as_it_is(rows):
    return [(str(row).encode(), None, None) for row in rows]


def test_rows_are_not_asked_for_before_there_is_room(monkeypatch, eventually):
    monkeypatch.setattr(emission, "AHEAD", 10)
    asked, target = itertools.count(), Slow()
    rows = (next(asked) for _ in itertools.count())
    with Emission("slow", rows, as_it_is, target, EmissionPace()).start() as made:
        eventually(lambda: asked.__reduce__()[1][0] >= 11)
        assert asked.__reduce__()[1][0] <= 22
        target.open.set()
        eventually(lambda: target.rows > 100)
    assert made.state is RunState.STOPPED


def test_an_endless_generator_is_read_at_the_rate(eventually):
    asked_s, target = [], Slow()
    target.open.set()

    def rows():
        while True:
            asked_s.append(time.monotonic())
            yield len(asked_s)

    with Emission("clock", rows(), as_it_is, target, EmissionPace(rate=20)).start():
        began_s = time.monotonic()
        eventually(lambda: target.rows >= 8)
        # One more than is due may be on its way, and what is led by: none is kept.
        due = EmissionPace(rate=20).wanted(time.monotonic() - began_s) + 2
        assert len(asked_s) <= due
    assert asked_s[-1] - asked_s[0] >= 5 / 20


@pytest.mark.parametrize(
    ("pace", "elapsed_s", "due"),
    [
        (EmissionPace(), 5.0, None),
        (EmissionPace(rate=10), 0.0, 1),
        (EmissionPace(rate=10), 1.95, 20),
        (EmissionPace(rate=0.5), 1.9, 1),
        (EmissionPace(rate=10, held_back=False), 0.0, None),
    ],
)
def test_how_many_rows_are_due(pace, elapsed_s, due):
    assert pace.due(elapsed_s) == due


def test_who_was_held_up_does_not_make_up_for_it():
    assert EmissionPace(rate=10).behind_s(10, 1.9) == 0
    assert EmissionPace(rate=10).behind_s(10, 3.0) == 2
    assert EmissionPace().behind_s(10, 3.0) == 0


def test_when_rows_came():
    assert EmissionPace(rate=4).arrival_us(2, 9.0) == 500_000
    assert EmissionPace(together=True).arrival_us(2, 9.0) == 0
    assert EmissionPace().arrival_us(2, 9.0) == 9_000_000


def test_rows_come_at_their_rate(eventually):
    target = Slow()
    target.open.set()
    rows = iter(range(20))
    began_s = time.monotonic()
    Emission("fast", rows, as_it_is, target, EmissionPace(rate=40)).start().wait(30)
    assert target.rows == 20
    assert time.monotonic() - began_s >= 19 / 40


def test_a_row_of_one_value_has_its_name():
    made = RowRecords(lambda rows: [row["value"] for row in rows], ("value",))
    assert made([b"x", {"value": b"y"}]) == [(b"x", None, None), (b"y", None, None)]
