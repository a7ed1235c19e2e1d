"""``session.rows``: a tape and a table, the batches and times of rows, what changes."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from arroyo_nb import Session
from arroyo_nb.catalog import DEFAULT_DELAY
from arroyo_nb.errors import ArroyoError
from arroyo_nb.row_tables import MOST_BATCHES, stream_rows
from arroyo_nb.run.runs import Runs
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.tape.records import RecordTape

CLICKS = """arrives  | at       | user | n
10:00:00 | 10:00:00 | ann  | 1
10:00:01 | 10:00:04 | bob  |
10:00:20 | 10:00:15 | ann  | 1
10:00:21 | 09:59:30 | bob  | 7
"""


@pytest.fixture
def session():
    with Session() as session:
        yield session


def batches(made):
    """The rows of each chunk of a tape, with the second of their arrival."""
    chunks = (chunk for _, chunk in RecordTape(made.path, "t").chunks())
    return [
        [
            (json.loads(row["value"]), row["_arrival"].replace(tzinfo=None))
            for row in chunk.to_pylist()
        ]
        for chunk in chunks
    ]


def arrivals(made):
    return [[f"{at:%H:%M:%S}" for _, at in batch] for batch in batches(made)]


def at(hour, minute, second=0):
    return datetime(2026, 1, 1, hour, minute, second)


def test_rows_become_a_table_that_is_read(session):
    made = session.rows("clicks", CLICKS, watermark="10 seconds")
    table = session.catalog.get("clicks")
    assert str(table.schema) == "at TIMESTAMP NOT NULL, user TEXT, n BIGINT"
    assert table.watermark.column == "at"
    assert table.watermark.fixed_delay == timedelta(seconds=10)
    assert session.head("clicks").to_pylist() == [
        {"at": at(10, 0), "user": "ann", "n": 1},
        {"at": at(10, 0, 4), "user": "bob", "n": None},
        {"at": at(10, 0, 15), "user": "ann", "n": 1},
        {"at": at(9, 59, 30), "user": "bob", "n": 7},
    ]
    assert arrivals(made) == [["10:00:00"], ["10:00:01"], ["10:00:20"], ["10:00:21"]]
    assert str(made) == (
        "4 rows in 4 micro-batches, event time 2026-01-01 09:59:30 to 10:00:15"
    )


def test_the_statement_declares_the_same_table(session):
    made = session.rows("Clicks now", CLICKS, watermark=timedelta(milliseconds=1500))
    table = session.catalog.get("clicks now")
    other = session.plan(made.statement).catalog.get("Clicks now")
    assert other == table
    assert table.watermark.fixed_delay == timedelta(milliseconds=1500)


def test_without_a_watermark_the_delay_is_that_of_a_table(session):
    session.rows("clicks", CLICKS)
    watermark = session.catalog.get("clicks").watermark
    assert (watermark.column, watermark.fixed_delay) == ("at", DEFAULT_DELAY)
    session.rows("clicks", CLICKS, watermark="0 seconds")
    assert session.catalog.get("clicks").watermark.fixed_delay == timedelta()


def test_rows_without_arrivals_come_one_second_apart(session):
    made = session.rows("t", "at|n\n10:00:00|1\n09:00:00|2\n12:00:00|3")
    assert arrivals(made) == [["10:00:00"], ["10:00:01"], ["10:00:02"]]


def test_rows_without_any_time(session):
    made = session.rows("t", "user|n\nann|1\nbob|2")
    assert batches(made) == [
        [({"user": "ann", "n": 1}, at(0, 0))],
        [({"user": "bob", "n": 2}, at(0, 0, 1))],
    ]
    assert session.catalog.get("t").watermark.column is None
    assert "no TIMESTAMP column" in str(made)


def test_blank_lines_end_batches(session):
    made = session.rows("t", "at|n\n10:00|1\n10:00|2\n\n10:00|3")
    assert arrivals(made) == [["10:00:00", "10:00:01"], ["10:00:02"]]


def test_what_arrives_together_is_a_batch_and_rows_arrive_in_order(session):
    text = "arrives|n\n10:00:05|1\n10:00:00|2\n10:00:05|3\n10:00:05.001|4"
    numbers = [[row["n"] for row, _ in b] for b in batches(session.rows("t", text))]
    assert numbers == [[2], [1, 3], [4]]


def test_many_rows_are_not_a_batch_each():
    schema = Schema((Field("n", BIGINT),))
    rows = [{"n": n} for n in range(MOST_BATCHES + 1)]
    assert len(set(stream_rows(schema, rows[:-1], None).batches)) == MOST_BATCHES
    assert stream_rows(schema, rows, None).batches == [
        n // 2 for n in range(MOST_BATCHES + 1)
    ]


def test_types_of_the_header(session):
    text = """at TIMESTAMP | n INT | m INT UNSIGNED NOT NULL | d DECIMAL(10, 2)
        | j JSON | b BOOLEAN | "my x" DOUBLE | t TEXT""".replace("\n", "")
    session.rows("t", f'{text}\n10:00|1|2|1.5|{{"a":1}}|true|3|4')
    (row,) = session.head("t").to_pylist()
    assert row == {
        "at": at(10, 0), "n": 1, "m": 2, "d": Decimal("1.50"), "j": '{"a":1}',
        "b": True, "my x": 3.0, "t": "4",
    }  # fmt: skip
    assert not session.catalog.get("t").schema["m"].nullable


def test_the_event_time_is_named_where_there_are_several_times(session):
    text = "created|at|n\n10:00|11:00|1"
    with pytest.raises(ArroyoError, match="2 columns may be the event time"):
        session.rows("t", text)
    made = session.rows("t", text, event_time="at")
    assert session.catalog.get("t").watermark.column == "at"
    assert made.span == (at(11, 0), at(11, 0))


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "n INT|m\n1|2\nx|3",
            {},
            "<cell>:3:1: 'x' is not a value of 'n', which is INT",
        ),
        ("n INTT|m\n1|2", {}, "<cell>:1:3: Unsupported SQL type 'INTT'"),
        ("n INTT|m\n1|2", {}, "did you mean 'INT'?"),
        ("n DATE|m\n1|2", {}, "<cell>:1:3: field 'n' has a type 'DATE'"),
        ("n BYTEA|m\n1|2", {}, "<cell>:1:1: the column 'n' is BYTEA, which no cell"),
        ("n PRIMARY KEY|m\n1|2", {}, "<cell>:1:3: column 'n' has no type"),
        ("a|n INT PRIMARY KEY\n1|2", {}, "'INT PRIMARY KEY' is not a type alone"),
        ("n INT) --|m\n1|2", {}, "<cell>:1:3: 'INT) --' is not a type alone"),
        ("n|m INT NOT NULL\n1|", {}, "<cell>:2:2: a value of 'm' is missing"),
        ("at|m\n10:00|1\n|2", {}, "<cell>:3:1: a value of 'at' is missing"),
        ("arrives|m\n10:00|1\n|2", {}, "<cell>:3:1: a value of 'arrives' is missing"),
        ("arrives|m\nx|1", {}, "<cell>:2:1: 'x' is not a value of 'arrives'"),
        ("at|m\n26:00|1", {}, "<cell>:2:1: '26:00' is not a value of 'at'"),
        (
            "arrives|m\n10:01|1\n\n10:00|2",
            {},
            "<cell>:4:1: the row arrives before the one above it",
        ),
        ("a|A\n1|2", {}, "<cell>:1:3: there are two columns 'A'"),
        ("a||b\n1|2|3", {}, "<cell>:1:3: a column of the header has no name"),
        ('""|b\n1|2', {}, "<cell>:1:1: a column of the header has no name"),
        ("arrives TIMESTAMP|m\n|1", {}, "a value of 'arrives' is missing"),
        ("_timestamp|b\n1|2", {}, "<cell>:1:1: '_timestamp' is a hidden column"),
        ("arrives\n10:00", {}, "there is no column but 'arrives'"),
        ("a|b", {}, "<cell>:1:1: there is a header, and no row below it"),
        (
            "at|b\n10:00|1\n1O:00|2",
            {"event_time": "at"},
            "<cell>:3:1: '1O:00' is not a value of 'at', which is TIMESTAMP",
        ),
        ("at|b\n1|2", {"event_time": "att"}, "did you mean 'at'?"),
        ("at TEXT|b\n1|2", {"event_time": "at"}, "the event time 'at' is TEXT"),
        ("a|b\n1|2", {"watermark": "5 seconds"}, "a watermark needs an event time"),
        ("at|b\n10:00|2", {"watermark": "soon"}, "the watermark 'soon' is no length"),
        ("at|b\n10:00|2", {"watermark": "1 month"}, "has months"),
        ("at|b\n10:00|2", {"watermark": timedelta(-1)}, "is not negative"),
        ([], {}, "there are no rows"),
        (5, {}, "a int has no rows"),
        ([1], {}, "row 1 is a int"),
        ([{"a": 1}, {"a": "x"}], {}, "the values of 'a' are not of one type"),
        ([{"at": at(10, 0)}, {"at": None}], {}, "'at' is NULL in row 2"),
        ([{"a": 1, "arrives": "x"}], {}, "'arrives' of row 1 is 'x', and no time"),
        ([{"a": 1, "arrives": 5}], {}, "'arrives' has a int"),
        ([{"a": timedelta(1)}], {}, "the column 'a' is an INTERVAL"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_changes(session, text, options, said):
    session.rows("t", "n\n1")
    before = session.catalog
    with pytest.raises(ArroyoError) as error:
        session.rows("t", text, **options)
    assert said in str(error.value)
    assert session.catalog is before


@pytest.mark.parametrize(
    ("disorder", "numbers"),
    [
        ({}, [[1], [2], [3], [4]]),
        ({"delay": "user=ann:1500 ms"}, [[2], [1], [4], [3]]),
        ({"duplicate": "100%"}, [[1], [2, 1], [3, 2], [4, 3, 4]]),
        ({"gap": timedelta(seconds=2)}, [[1], [2], [3, 4]]),
        ({"burst": "2 s", "seed": 5}, [[1], [2, 3], [4]]),
        ({"duplicate": 1, "burst": "10s"}, [[1], [2, 1, 3, 2, 4, 3, 4]]),
    ],
)
def test_a_disorder_makes_other_batches(session, disorder, numbers):
    text = "arrives|user|n\n"
    text += "".join(
        f"10:00:0{n - 1}|{'bob' if n % 2 == 0 else 'ann'}|{n}\n" for n in range(1, 5)
    )
    made = session.rows("t", text, disorder=disorder)
    found = [[row["n"] for row, _ in batch] for batch in batches(made)]
    assert found == numbers
    assert session.rows("t", text, disorder=disorder).path == made.path


def test_a_shuffle_is_another_for_another_seed(session):
    text = "n\n" + "".join(f"{n}\n" for n in range(50))

    def numbers(**disorder):
        made = session.rows("t", text, disorder=disorder)
        return [row["n"] for batch in batches(made) for row, _ in batch]

    assert sorted(numbers(shuffle="20s")) == list(range(50))
    assert numbers(shuffle="20s") == numbers(shuffle="20s", seed=0) != list(range(50))
    assert numbers(shuffle="20s") != numbers(shuffle="20s", seed=1)


@pytest.mark.parametrize(
    ("disorder", "said"),
    [
        ({"shufle": "1s"}, "did you mean 'shuffle'?"),
        ({"shuffle": "soon"}, "the shuffle 'soon' is no length of time"),
        ({"gap": "1 month"}, "the gap '1 month' has months"),
        ({"burst": timedelta(-1)}, "is negative"),
        ({"duplicate": "110%"}, "the share of 'duplicate' is '110%'"),
        ({"duplicate": "many"}, "the share of 'duplicate' is 'many'"),
        ({"seed": 1.5}, "the seed '1.5' is no whole number"),
        ({"delay": "bob:20s"}, "the delay 'bob:20s' is not COLUMN=VALUE:TIME"),
        ({"delay": "usr=bob:20s"}, "did you mean 'user'?"),
        ({"delay": "user=eve:20s"}, "no row has 'eve' in 'user'"),
    ],
)
def test_what_is_no_disorder(session, disorder, said):
    with pytest.raises(ArroyoError) as error:
        session.rows("t", "user|n\nbob|1", disorder=disorder)
    assert said in str(error.value)
    assert "t" not in session.catalog


def test_blank_lines_and_a_disorder_do_not_go_together(session):
    with pytest.raises(ArroyoError, match="blank lines end micro-batches"):
        session.rows("t", "n\n1\n\n2", disorder={"shuffle": "1s"})


def test_a_table_has_a_name(session):
    with pytest.raises(ArroyoError, match="the table has no name"):
        session.rows(" ", "n\n1")


def test_wrong_values_are_told_together(session):
    with pytest.raises(ArroyoError) as error:
        session.rows("t", "n INT|b BOOLEAN\n1|x\ny|true\n")
    places = [str(p).split(" ")[0] for p in error.value.problems]
    assert places == ["<cell>:2:3:", "<cell>:3:1:"]


@dataclass
class Click:
    at: datetime
    user: str
    n: int


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"at": [at(10, 0), at(9, 0)], "user": ["ann", None], "n": [1, 2]}),
        pa.table({"at": [at(10, 0), at(9, 0)], "user": ["ann", None], "n": [1, 2]}),
        [
            {"at": at(10, 0).replace(tzinfo=UTC), "user": "ann", "n": 1},
            {"n": 2, "at": at(9, 0).replace(tzinfo=UTC)},
        ],
    ],
)
def test_frames_and_lists(session, data):
    made = session.rows("t", data)
    assert batches(made) == [
        [({"at": "2026-01-01T10:00:00", "user": "ann", "n": 1}, at(10, 0))],
        [({"at": "2026-01-01T09:00:00", "user": None, "n": 2}, at(10, 0, 1))],
    ]
    assert str(session.catalog.get("t").schema["n"]) == "n BIGINT"


def test_typed_events(session):
    session.rows("t", [Click(at(10, 0), "ann", 1), Click(at(9, 0), "bob", 2)])
    assert session.catalog.get("t").watermark.column == "at"
    assert session.head("t")["user"].to_pylist() == ["ann", "bob"]


def test_small_numbers_and_days_of_a_frame_get_a_type_of_tables(session):
    day = datetime(2026, 1, 2).date()
    table = pa.table({"n": pa.array([1], pa.int8()), "d": [day]})
    session.rows("t", table)
    assert str(session.catalog.get("t").schema) == "n INT, d TEXT"
    assert session.head("t").to_pylist() == [{"n": 1, "d": "2026-01-02"}]


@pytest.mark.parametrize("moment", [at(10, 0), time(10), "10:00"])
def test_arrivals_of_a_frame(session, moment):
    rows = [{"n": 1, "came": moment}, {"n": 2, "came": moment}]
    made = session.rows("t", rows, arrives="came")
    assert session.catalog.get("t").schema.names == ("n",)
    assert arrivals(made) == [["10:00:00", "10:00:00"]]


def test_a_csv_file(session, tmp_path):
    path = tmp_path / "clicks.csv"
    path.write_text(
        'at,n:BIGINT,"Full Name"\n10:00,"1","Ann, A."\n', encoding="utf-8-sig"
    )
    for named in (path, str(path)):
        made = session.rows("t", named)
        assert [row for ((row, _),) in batches(made)] == [
            {"at": "2026-01-01T10:00:00", "n": 1, "Full Name": "Ann, A."}
        ]
    path.write_text("at,n\n10:00,1\n26:00,2\n")
    with pytest.raises(ArroyoError) as error:
        session.rows("t", path)
    assert str(error.value).startswith("clicks.csv:3:1: '26:00'")
    path.write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(ArroyoError, match="is not text in UTF-8: byte 4"):
        session.rows("t", path)
    with pytest.raises(ArroyoError, match="there is no file"):
        session.rows("t", tmp_path / "other.csv")


def test_it_says_what_is_different(session):
    def changes(text, **options):
        return session.rows("t", text, **options).changes

    text = "at|n\n10:00|1\n10:01|2\n"
    assert changes(text) == ""
    assert changes(text) == ""
    assert changes(text + "10:02|3\n") == "1 row added"
    assert changes("at|n\n10:00|1\n10:02|9\n") == "1 row added, 2 rows removed"
    assert changes("at|n\n10:00|1\n\n10:02|9\n") == ""  # a row a batch before, too
    assert (
        changes("at|n\n10:02|9\n10:00|1\n") == "the same rows, which arrive otherwise"
    )
    assert changes("at|n\n10:02|9\n10:00|1\n", watermark="5 s") == "another watermark"
    assert changes("at|m\n10:02|9\n") == ""


def test_other_rows_are_another_tape_and_the_same_rows_the_same(session):
    first = session.rows("t", CLICKS)
    again = session.rows("t", CLICKS)
    other = session.rows("t", CLICKS + "10:01 | 10:01 | ann | 1\n")
    assert first.path == again.path != other.path
    assert len(batches(first)) == 4
    assert len(batches(other)) == 5


def test_a_tape_that_is_kept_is_replaced(session, tmp_path):
    path = tmp_path / "clicks.tape"
    session.rows("t", "n\n1\n2", path=path)
    made = session.rows("t", "n\n3", path=path)
    assert [row for ((row, _),) in batches(made)] == [{"n": 3}]
    assert made.changes == "1 row added, 2 rows removed"
    inode = path.stat().st_ino
    session.rows("t", "n\n3", path=path)
    assert path.stat().st_ino == inode
    session.close()
    assert path.exists()


def test_nothing_else_is_written_over(session, tmp_path):
    session.emit(tmp_path / "a.tape", [{"n": 1}])
    (tmp_path / "b.tape").mkdir()
    (tmp_path / "c.tape").write_text("mine")
    for name in "abc":
        with pytest.raises(ArroyoError, match="there is something else at"):
            session.rows("t", "n\n3", path=tmp_path / f"{name}.tape")
    assert (tmp_path / "c.tape").read_text() == "mine"
    assert "t" not in session.catalog


def test_a_tape_that_a_run_reads_is_not_replaced(session, tmp_path, monkeypatch):
    path = tmp_path / "clicks.tape"
    session.rows("t", "n\n1", path=path)
    monkeypatch.setattr(Runs, "readers", lambda self, is_wanted: ["query_1"])
    with pytest.raises(ArroyoError, match="query_1 still reads the rows at"):
        session.rows("t", "n\n2", path=path)
    assert session.head("t").to_pylist() == [{"n": 1}]


def test_the_tape_goes_with_the_session():
    with Session() as session:
        made = session.rows("t", "n\n1")
        assert made.path.exists()
    assert not made.path.exists()
