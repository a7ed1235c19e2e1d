"""DataFrames of other libraries as tables that streams look rows up in."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from arroyo_nb import Session
from arroyo_nb.catalog import LookupTable
from arroyo_nb.errors import ArroyoError


def defined(frame, key="k"):
    with Session() as session:
        session.lookup("t", frame, key=key)
        table = session.catalog.get("T")
    assert isinstance(table, LookupTable)
    return table


def test_arrow_types_become_those_of_the_dialect():
    noon = datetime(2024, 1, 1, 12)
    columns = {
        "k": pa.array([1], pa.uint16()),
        "small": pa.array([1], pa.int8()),
        "whole": pa.array([2**63], pa.uint64()),
        "half": pa.array([0.5], pa.float32()),
        "yes": pa.array([True]),
        "text": pa.array(["a"], pa.large_string()),
        "word": pa.array(["b"]).dictionary_encode(),
        "bytes": pa.array([b"c"]),
        "day": pa.array([date(2024, 1, 1)]),
        "at": pa.array([noon], pa.timestamp("ns", "Europe/Vienna")),
        "long": pa.array([timedelta(seconds=1)], pa.duration("ms")),
        "price": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
        "tags": pa.array([["x"]], pa.large_list(pa.large_string())),
        "place": pa.array([{"city": "Wien", "n": 1}]),
        "none": pa.nulls(1),
    }
    table = defined(pa.table(columns))
    assert str(table.schema) == (
        "k SMALLINT UNSIGNED, small TINYINT, whole BIGINT UNSIGNED, half FLOAT, "
        "yes BOOLEAN, text TEXT, word TEXT, bytes BYTEA, day DATE, at TIMESTAMP, "
        "long INTERVAL, price DECIMAL(10, 2), tags TEXT[], place STRUCT<city TEXT, "
        "n BIGINT>, none TEXT"
    )
    (row,) = table.rows.to_pylist()
    assert row["at"] == noon, "a naive instant of UTC"
    assert (row["tags"], row["word"], row["none"]) == (["x"], "b", None)


def test_pandas_is_taken_as_it_is_now():
    columns = {"k": ["a", None, "b"], "n": [1.5, 2.5, None]}
    frame = pd.DataFrame(columns, index=[7, 8, 9])
    table = defined(frame)
    frame.loc[7, "n"] = 0.0
    assert table.rows.to_pylist() == [{"k": "a", "n": 1.5}, {"k": "b", "n": None}]
    named = frame.set_index("k")
    assert defined(named).schema.names == ("n", "k")


@pytest.mark.parametrize(
    ("frame", "key", "message"),
    [
        ([1], "k", "a list is not a DataFrame"),
        (pa.table({"a": [1]}), "k", "the DataFrame of 't' has no column 'k'"),
        (pa.table({"k": [[1]]}), "k", r"the key 'k' of 't' is BIGINT\[\]"),
        (pa.table({"k": [1]}), (), "the lookup table 't' has no key"),
        (
            pa.table({"k": ["a", "b", "a"], "j": [1, 2, 1]}),
            ("k", "j"),
            "the lookup table 't' has 2 rows of one key: k = 'a', j = 1",
        ),
        (
            pa.table({"k": [1], "m": pa.array([[("a", 1)]], pa.map_("str", "int8"))}),
            "k",
            "the column 'm' is map<string, int8>, which is not a type of SQL",
        ),
    ],
)
def test_what_cannot_be_looked_up_is_refused(frame, key, message):
    with pytest.raises(ArroyoError, match=message):
        defined(frame, key)


def test_rows_with_two_keys_and_null_keys_are_no_double():
    rows = pa.table({"k": ["a", "a", None, None], "j": [1, 2, 1, 1]})
    assert defined(rows, ["k", "j"]).rows.num_rows == 2


def test_a_hidden_column_is_refused():
    with pytest.raises(ArroyoError, match="'_weight' is a hidden column"):
        defined(pa.table({"k": [1], "_weight": [2]}))
