"""Which declared types take the types of a Parquet file, and which values come."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal as Exact
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import FORMATS, ListedFile
from arroyo_nb.formats.parquet.types import declared_type
from arroyo_nb.schema import (
    BIGINT,
    BYTEA,
    FLOAT,
    INT,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    Type,
)

KEY = UUID("12345678-1234-5678-1234-567812345678")
AT = datetime(2024, 1, 2, 3, 4, 5, 678_000)


def rows_of(tmp_path, columns, schema, **options):
    """The columns written as a file, and read as those of a schema."""
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    file = ListedFile(tmp_path / "a.parquet", "a.parquet")
    options = {"bad_data": "fail", **options}
    reader = FORMATS.get("parquet").file_reader(schema, options, None)
    with reader.open(file, None) as reading:
        return reading.read(2**20).decoded


def values_of(tmp_path, values, type_: Type):
    column = values if isinstance(values, pa.Array) else pa.array(values)
    decoded = rows_of(tmp_path, {"x": column}, Schema((Field("x", type_),)))
    return decoded.rows["x"].to_pylist()


def entries(key: Type, value: Type) -> ListOf:
    return ListOf(StructOf((Field("key", key), Field("value", value))))


CASES = [
    # What the file has, the declared type, what comes of it.
    (pa.array([date(2024, 1, 2)]), Timestamp(), datetime(2024, 1, 2)),
    (pa.array([date(2024, 1, 2)]), TEXT, "2024-01-02"),
    (pa.array([date(2024, 1, 2)]), JSON, '"2024-01-02"'),
    (pa.array([date(2024, 1, 2)], pa.date64()), Timestamp(), datetime(2024, 1, 2)),
    *(
        # As in JSON and Avro, no instant moves into the future.
        (pa.array([ns], pa.timestamp("ns", zone)), Timestamp(), at)
        for ns, at in (
            (-1, datetime(1969, 12, 31, 23, 59, 59, 999_999)),
            (-1000, datetime(1969, 12, 31, 23, 59, 59, 999_999)),
            (1999, datetime(1970, 1, 1, 0, 0, 0, 1)),
        )
        for zone in (None, "Asia/Kolkata")
    ),
    (pa.array([time(3, 4, 5)]), TEXT, "03:04:05"),
    (pa.array([time(3, 4, 5, 600_000)], pa.time32("ms")), TEXT, "03:04:05.600"),
    (pa.array([time(3, 4, 5, 678)], pa.time64("ns")), TEXT, "03:04:05.000678"),
    (pa.array([time(23, 0)]), JSON, '"23:00:00"'),
    (
        pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
        ListOf(StructOf((Field("word", TEXT), Field("n", INT)))),
        [{"word": "a", "n": 1}, {"word": "b", "n": None}],
    ),
    (
        pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
        JSON,
        '{"a":1,"b":null}',
    ),
    (pa.array([KEY.bytes], pa.uuid()), TEXT, str(KEY)),
    (pa.array([KEY.bytes], pa.uuid()), BYTEA, KEY.bytes),
    (pa.array([KEY.bytes], pa.uuid()), JSON, f'"{KEY}"'),
    (pa.array(['{"a": [1]}'], pa.json_()), JSON, '{"a": [1]}'),
    (pa.array(['{"a": [1]}'], pa.json_()), TEXT, '{"a": [1]}'),
    (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), ListOf(INT), [1, 2]),
    (pa.array([[1, None]], pa.list_(pa.int64(), 2)), JSON, "[1,null]"),
    (pa.array([Exact("1.50")], pa.decimal128(20, 4)), Decimal(5, 1), Exact("1.5")),
    (pa.array([Exact("1.5")], pa.decimal256(50, 4)), Decimal(38, 9), Exact("1.5")),
    (pa.array([Exact("1.5")], pa.decimal256(50, 4)), JSON, "1.5000"),
    (pa.array([Exact(7)], pa.decimal128(38, 0)), BIGINT, 7),
    (pa.array([12]), Decimal(4, 2), Exact("12.00")),
    (pa.array([1.5], pa.float16()), FLOAT, 1.5),
    (pa.array([timedelta(seconds=2)]), BIGINT, 2_000_000),
    (pa.array([b"text"]), TEXT, "text"),
    (pa.array([b"four"], pa.binary(4)), TEXT, "four"),
    (pa.array(["text"]), BYTEA, b"text"),
    (
        pa.array([{"at": AT, "ids": [KEY.bytes], "no": None}]).cast(
            pa.struct(
                [
                    ("at", pa.timestamp("us")),
                    ("ids", pa.list_(pa.binary())),
                    ("no", pa.null()),
                ]
            )
        ),
        JSON,
        f'{{"at":"{AT.isoformat(timespec="milliseconds")}",'
        '"ids":["EjRWeBI0VngSNFZ4EjRWeA=="],"no":null}',
    ),
]


@pytest.mark.parametrize(("column", "type_", "wanted"), CASES)
def test_a_declared_type_takes_it(tmp_path, column, type_, wanted):
    values = pa.concat_arrays([column, pa.nulls(1, column.type), column])
    assert values_of(tmp_path, values, type_) == [wanted, None, wanted]
    # And so it does where it is part of another value.
    inner = ListOf(StructOf((Field("f", type_),)))
    nested = pa.ListArray.from_arrays(
        [0, 1, 3], pa.StructArray.from_arrays([values], ["f"])
    )
    found = values_of(tmp_path, nested, inner)
    assert found == [[{"f": wanted}], [{"f": None}, {"f": wanted}]]


@pytest.mark.parametrize(("column", "type_", "_"), CASES)
def test_the_type_of_the_hint_is_taken(tmp_path, column, type_, _):
    del type_
    with pytest.raises(RunProblem, match="is declared") as failed:
        values_of(tmp_path, column, StructOf((Field("other", INT),)))
    wanted = declared_type(column.type)
    assert failed.value.hint == f"declare 'x' as {wanted}"
    (value,) = values_of(tmp_path, column, wanted)
    assert value is not None


@pytest.mark.parametrize(
    ("values", "type_", "left"),
    [
        (pa.array([1, 3_000_000], pa.date32()), Timestamp(), datetime(1970, 1, 2)),
        (pa.array([1, 3_000_000], pa.date32()), TEXT, "1970-01-02"),
        (pa.array([1, 3_000_000], pa.date32()), JSON, '"1970-01-02"'),
        (pa.array([1, 2**31 - 1], pa.date32()), Timestamp(), datetime(1970, 1, 2)),
        (pa.array([Exact("1.5"), Exact("1.55")]), Decimal(5, 1), Exact("1.5")),
        (pa.array([Exact("7.0"), Exact("7.5")]), INT, 7),
        (pa.array([Exact(7), Exact(2**40)], pa.decimal128(38, 0)), INT, 7),
        (pa.array([7, 1000]), Decimal(4, 2), Exact("7.00")),
        (pa.array([b"t", b"\xff"]), TEXT, "t"),
        (pa.array([0, 10**12], pa.timestamp("s")), JSON, '"1970-01-01T00:00:00"'),
    ],
)
def test_a_value_that_is_not_the_same_in_the_type_is_bad_data(
    tmp_path, values, type_, left
):
    decoded = rows_of(
        tmp_path, {"x": values}, Schema((Field("x", type_),)), bad_data="drop"
    )
    assert decoded.rows["x"].to_pylist() == [left]
    assert [bad.line for bad in decoded.bad] == [2]


OPTIONAL = Schema(
    (Field("n", INT), Field("late", TEXT), Field("s", StructOf((Field("a", INT),))))
)


def test_a_column_that_an_older_file_lacks(tmp_path):
    columns = {"n": [1, 2], "s": pa.array([{"b": 1}, None])}
    with pytest.raises(RunProblem, match="has no column 'late'") as failed:
        rows_of(tmp_path, columns, OPTIONAL)
    assert "'parquet.missing_columns' = 'null'" in failed.value.hint
    null = {"parquet.missing_columns": "null"}
    rows = rows_of(tmp_path, columns, OPTIONAL, **null).rows.to_pylist()
    assert rows == [
        {"n": 1, "late": None, "s": {"a": None}},
        {"n": 2, "late": None, "s": None},
    ]
    with pytest.raises(RunProblem, match="has none of the columns"):
        rows_of(tmp_path, {"other": [1]}, OPTIONAL, **null)
    must = Schema((Field("n", INT), Field("late", TEXT, nullable=False)))
    with pytest.raises(RunProblem, match="has no column 'late'") as failed:
        rows_of(tmp_path, columns, must, **null)
    assert failed.value.hint == "known: n, s"


@settings(max_examples=60)
@given(
    data=st.data(),
    nested=st.recursive(
        st.sampled_from(
            [pa.int32(), pa.string(), pa.date32(), pa.timestamp("us"), pa.float64()]
        ),
        lambda inner: st.one_of(
            inner.map(pa.list_),
            inner.map(lambda type_: pa.list_(type_, 2)),
            inner.map(lambda type_: pa.map_(pa.string(), type_)),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda types: pa.struct([(f"f{n}", t) for n, t in enumerate(types)])
            ),
        ),
        max_leaves=4,
    ),
)
def test_any_nested_value_is_the_same_as_a_column_and_as_json(
    tmp_path_factory, data, nested
):
    tmp_path = tmp_path_factory.mktemp("nested")
    values = data.draw(st.lists(_value(nested), min_size=1, max_size=5))
    column = pa.array(values, nested)
    found = values_of(tmp_path, column, declared_type(nested))
    assert found == [_as_column(value, nested) for value in values]
    texts = values_of(tmp_path, column, JSON)
    if not pa.types.is_string(nested):
        documents = [None if text is None else json.loads(text) for text in texts]
        assert documents == [_as_json(value, nested) for value in values]


def _value(type_):
    if pa.types.is_map(type_):
        made = st.dictionaries(st.text(max_size=2), _value(type_.item_type), max_size=3)
        made = made.map(lambda found: list(found.items()))
    elif pa.types.is_fixed_size_list(type_):
        made = st.lists(_value(type_.value_type), min_size=2, max_size=2)
    elif pa.types.is_list(type_):
        made = st.lists(_value(type_.value_type), max_size=3)
    elif pa.types.is_struct(type_):
        made = st.fixed_dictionaries({f.name: _value(f.type) for f in type_})
    else:
        made = {
            pa.int32(): st.integers(-(2**31), 2**31 - 1),
            pa.string(): st.text(max_size=3),
            pa.date32(): st.dates(),
            pa.timestamp("us"): st.datetimes(),
            pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
        }[type_]
    return st.none() | made


def _as_column(value, type_):
    if value is None:
        return None
    if pa.types.is_map(type_):
        return [{"key": k, "value": _as_column(v, type_.item_type)} for k, v in value]
    if pa.types.is_struct(type_):
        return {f.name: _as_column(value[f.name], f.type) for f in type_}
    if isinstance(value, list):
        return [_as_column(one, type_.value_type) for one in value]
    is_date = pa.types.is_date(type_)
    return datetime(value.year, value.month, value.day) if is_date else value


def _as_json(value, type_):
    if value is None or isinstance(value, int | str):
        return value
    if pa.types.is_map(type_):
        return {k: _as_json(v, type_.item_type) for k, v in value}
    if pa.types.is_struct(type_):
        return {f.name: _as_json(value[f.name], f.type) for f in type_}
    if isinstance(value, list):
        return [_as_json(one, type_.value_type) for one in value]
    if isinstance(value, float):
        return pytest.approx(value) if math.isfinite(value) else None
    if isinstance(value, datetime):
        spec = (
            "seconds"
            if not value.microsecond
            else "milliseconds"
            if not value.microsecond % 1000
            else "microseconds"
        )
        return value.isoformat(timespec=spec)
    return value.isoformat()
