"""Rows that a tape of JSON cannot hold are refused with words, whatever they are, and
nothing of anybody else is written over."""

from dataclasses import dataclass
from datetime import datetime
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from arroyo_nb import Session
from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.runs import Runs
from arroyo_nb.tape import records


@pytest.fixture
def session():
    with Session() as session:
        yield session


@dataclass
class Event:
    user: str
    n: float


TWICE = pd.DataFrame([[1, 2]], columns=["n", "n"])
LATE = "arrives|n\n9998-12-31 23:59:50|1\n9998-12-31 23:59:51|2\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([{"n": 1.0}, {"n": inf}], "'n' of row 2 is Infinity, which JSON has not"),
        ([{"n": [1.0, -inf]}], "'n' of row 1 is -Infinity"),
        ([{"n": {"m": nan}}], "'n' of row 1 is NaN"),
        (pd.DataFrame({"n": [1.0, inf]}), "'n' of row 2 is Infinity"),
        (pa.table({"n": pa.array([nan], pa.float32())}), "'n' of row 1 is NaN"),
        ([{"n": np.float32(inf)}], "'n' of row 1 is Infinity"),
        ([Event("ann", 1), Event("bob", inf)], "'n' of row 2 is Infinity"),
        ([{"b": b"x"}], "the column 'b' has bytes"),
        ([{"b": {"c": [b"x"]}}], "the column 'b.c' has bytes"),
        (TWICE, "the DataFrame cannot be read: Duplicate column names"),
        (pd.DataFrame({"n": [1, "a"]}), "the DataFrame cannot be read"),
        (pa.table([[1], [2]], names=["n", "N"]), "there are two columns 'n'"),
        ([{"u": "a"}, {"u": "\ud800"}], "'u' of row 2 is '\\ud800', which has half"),
        ([{"u": ["\ud800"]}], "'u' of row 1 is '\\ud800'"),
        ([Event("\ud800", 1)], "Event.user: '\\ud800' is no str"),
        ([{"\ud800": 1}], "the column '\\ud800' has half a character in its name"),
        ([{"a": {"\ud800": 1}}], "half a character"),
        ("n|m\n1|\ud800", "<cell>:2:3: a character is half of one"),
        ([{1: 1, "1": 2}], "the key 1 of a row is a int"),
        ([{"a": {}}], "the column 'a' has an empty mapping"),
        ([{"a": [{}]}], "the column 'a' has an empty mapping"),
        ("arrives INT|n\n1|2", "<cell>:1:1: 'arrives' is INT, and is the time of"),
        ('a,b\n"x\ny",1', "is read with pandas"),
        ("d DECIMAL(10, 2)\n1e99999999999999999999", "<cell>:2:1: '1e99999"),
        ("d DECIMAL(10, 2)\n1e999999999", "<cell>:2:1: '1e999999999' is not a value"),
        ("j JSON\n" + "[" * 100_000, "the JSON is nested too deeply"),
        ("n INT\n" + "1" * 5000, "write a whole number from"),
        ("arrives|n\n9999-01-01|1", "row 1, in the order of arrival, arrives outside"),
        ("at|n\n9998-12-31 23:59:59|1\n10:00|2", "row 2, in the order of arrival"),
    ],
)
def test_rows_that_no_tape_can_hold(session, data, said):
    before = session.catalog
    with pytest.raises(ArroyoError) as error:
        session.rows("t", data)
    str(error.value).encode()
    assert said in str(error.value)
    assert session.catalog is before


def test_what_pandas_has_as_missing_is_null(session):
    session.rows("t", pd.DataFrame({"n": [1.5, nan]}))
    assert session.head("t")["n"].to_pylist() == [1.5, None]


@pytest.mark.parametrize("name", ["\ud800", "a\udfff"])
def test_the_name_of_a_table_has_whole_characters(session, name):
    with pytest.raises(ArroyoError, match="the name of the table has half"):
        session.rows(name, "n\n1")
    with pytest.raises(ArroyoError, match="the path of the tape has half"):
        session.rows("t", "n\n1", path=f"{name}.tape")


@pytest.mark.parametrize(
    "disorder",
    [
        {"gap": "1 day"},
        {"burst": "1 day"},
        {"delay": "n=2:10s"},
        {"shuffle": "3000 days", "seed": 2},
    ],
)
def test_a_disorder_ends_before_the_tapes_do(session, disorder):
    session.rows("t", LATE)
    with pytest.raises(ArroyoError, match="arrives outside of the years 1 to 9998"):
        session.rows("t", LATE, disorder=disorder)
    assert session.rows("t", LATE + "9998-12-31 23:59:52|3\n").changes == "1 row added"


def test_a_tape_of_times_that_python_has_not_is_replaced(session, tmp_path):
    path = tmp_path / "t.tape"
    made = session.rows("t", "n\n1", path=path)
    for chunk in made.path.iterdir():
        chunk.unlink()
    path.rmdir()
    with records.RecordWriter(
        path, "t", made_by=records.ROWS, together_us=None
    ) as writer:
        year_10_000_us = records.END_OF_TIME_US + 366 * 86_400_000_000
        writer.append(records.TapeRecord(0, 0, 0, None, b'{"n":1}'), year_10_000_us)
        writer.finish()
    assert session.rows("t", "n\n2", path=path).changes == "1 row added, 1 row removed"


@pytest.mark.parametrize("text", ["n\n" + "1" * 5000, "n\n" + "0" * 5000 + "1"])
def test_a_number_of_thousands_of_digits_is_a_text(session, text):
    session.rows("t", text)
    value = text.partition("\n")[2]
    (row,) = session.head("t").to_pylist()
    assert row["n"] == value


def test_a_seed_has_few_digits(session):
    for seed in ("9" * 5000, 10**5000):
        with pytest.raises(ArroyoError, match="the seed has too many digits"):
            session.rows("t", "n\n1", disorder={"shuffle": "1s", "seed": seed})


def test_a_watermark_is_a_length_of_time(session):
    with pytest.raises(ArroyoError, match="such as '10 seconds'"):
        session.rows("t", "at|n\n10:00|1", watermark=10)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flag|n\nTRUE|1\nfalse|2", "flag=TRUE"),
        ("flag|n\nTRUE|1\nfalse|2", "flag=true"),
        ("flag|n\nTRUE|1\nfalse|2", "flag=True"),
        ("at|n\n10:00:00|1\n10:00:01|2", "at=10:00:00"),
        ("x DOUBLE|n\n1|1\n2|2", "x=1"),
    ],
)
def test_the_rows_to_delay_are_named_as_they_stand(session, text, value):
    session.rows("t", text, disorder={"delay": f"{value}:20s"})
    assert session.head("t")["n"].to_pylist() == [2, 1]


def test_a_small_share_is_a_share(session):
    made = session.rows("t", "n\n1\n2", disorder={"duplicate": 1e-5})
    assert made.rows == 2
    for share in (1.5, -0.1, nan):
        with pytest.raises(ArroyoError, match="the share of 'duplicate'"):
            session.rows("t", "n\n1", disorder={"duplicate": share})


def test_a_run_keeps_its_tape_whatever_reads_it_is_called(
    session, tmp_path, monkeypatch
):
    path = tmp_path / "k.tape"
    session.rows("a", "n\n1", path=path)
    plan = session.plan("SELECT n FROM a")
    run = SimpleNamespace(name="query_1", plan=plan)
    with monkeypatch.context() as patched:
        patched.setattr(Runs, "live", property(lambda self: [run]))
        indirect = tmp_path / "x" / ".." / "k.tape"
        (tmp_path / "x").mkdir()
        for name, place in (("a", path), ("b", path), ("b", indirect)):
            with pytest.raises(ArroyoError, match="query_1 still reads the rows at"):
                session.rows(name, "n\n2", path=place)
        # The table has another tape now, and the run still its own.
        session.rows("a", "n\n3")
        with pytest.raises(ArroyoError, match="query_1 still reads the rows at"):
            session.rows("b", "n\n2", path=path)
        session.rows("b", "n\n2", path=tmp_path / "other.tape")
    session.rows("b", "n\n2", path=path)
    assert session.head("b").to_pylist() == [{"n": 2}]


def test_two_tables_share_no_tape(session, tmp_path):
    path = tmp_path / "k.tape"
    session.rows("a", "n\n1", path=path)
    with pytest.raises(ArroyoError, match="the table 'a' reads the rows at") as error:
        session.rows("b", "n\n2", path=path)
    assert "DROP TABLE a" in str(error.value)
    assert "b" not in session.catalog
    assert session.head("a").to_pylist() == [{"n": 1}]


def test_a_file_in_the_folder_of_a_tape_is_kept(session, tmp_path):
    path = tmp_path / "k.tape"
    session.rows("a", "n\n1", path=path)
    notes = path / "notes.md"
    notes.write_text("mine")
    with pytest.raises(ArroyoError, match=r"there is 'notes\.md' in the tape"):
        session.rows("a", "n\n2", path=path)
    assert notes.read_text() == "mine"
    assert session.head("a").to_pylist() == [{"n": 1}]
    notes.unlink()
    (path / ".chunk-00000002.parquet.tmp").write_text("half")
    session.rows("a", "n\n2", path=path)
    assert session.head("a").to_pylist() == [{"n": 2}]


def test_a_link_is_no_place_for_a_tape(session, tmp_path):
    link = tmp_path / "k.tape"
    link.symlink_to(tmp_path / "gone.tape")
    with pytest.raises(ArroyoError, match=r"k\.tape' is a link, to '.*gone\.tape'"):
        session.rows("a", "n\n1", path=link)
    assert link.is_symlink()


def test_times_before_the_epoch_are_times(session):
    session.rows("t", "arrives|n\n0001-01-01|1\n1969-07-20|2")
    assert session.head("t")["n"].to_pylist() == [1, 2]
    zone = datetime.fromisoformat("0001-01-01T00:00:00+05:00")
    with pytest.raises(ArroyoError, match="outside of the years 1 to 9999"):
        session.rows("t", [{"n": 1, "arrives": zone}])
