"""Nested values between Spark and DataFusion: lists and structs of what one of them
holds otherwise, NULLs at each level, and slices of batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal as Exact

import pyarrow as pa
import pytest

from arroyo_nb.functions.datafusion import DataFusionCall
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    INTERVAL,
    NULL,
    TEXT,
    Decimal,
    Field,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.spark.arrow_schema import spark_arrow_type
from arroyo_nb.spark.datafusion_batches import DataFusionBatches

_AT = datetime(2024, 1, 31, 10, 40, 0, 123456, UTC)
_ORDER = StructOf(
    (
        Field("at", Timestamp()),
        Field("count", BIGINT_UNSIGNED),
        Field("prices", ListOf(Decimal(10, 2))),
    )
)
_VALUES: dict[Type, list[object]] = {
    ListOf(BIGINT): [[1, None], None, [], [2]],
    ListOf(Timestamp()): [[_AT, None], None, [], [_AT]],
    ListOf(BIGINT_UNSIGNED): [[Exact(2**64 - 1), None], None, []],
    ListOf(INTERVAL): [[timedelta(days=1, seconds=5), None], None, []],
    ListOf(ListOf(TEXT)): [[["a", None], None, []], None, []],
    ListOf(NULL): [[None, None], None, []],
    ListOf(_ORDER): [
        [{"at": _AT, "count": Exact(5), "prices": [Exact("1.50"), None]}, None],
        None,
        [],
        [{"at": None, "count": None, "prices": None}],
    ],
    _ORDER: [{"at": _AT, "count": Exact(0), "prices": []}, None],
}


def _as_spark(values: list[object], type_: Type) -> pa.Array:
    """As Spark gives them: its field of elements has a name of its own."""
    made = pa.array(values, spark_arrow_type(type_))
    if pa.types.is_list(made.type):
        named = pa.list_(pa.field("element", made.type.value_type))
        made = made.cast(named)
    return made


@pytest.mark.parametrize("type_", _VALUES, ids=str)
def test_nested_values_come_back_as_they_went(type_: Type) -> None:
    given = _as_spark(_VALUES[type_], type_)
    same = DataFusionBatches(DataFusionCall('"a0"', (type_,), type_))
    for first in range(len(given)):
        found = same(given[first:])
        found.validate(full=True)
        assert found.type == spark_arrow_type(type_)
        assert found.to_pylist() == given[first:].to_pylist()


def test_an_element_is_compared_with_those_of_spark() -> None:
    given = _as_spark([["a", "b", "a"], None, [None]], ListOf(TEXT))
    call = DataFusionCall(
        "array_remove_n(\"a0\", 'a', 1)", (ListOf(TEXT),), ListOf(TEXT)
    )
    assert DataFusionBatches(call)(given).to_pylist() == [["b", "a"], None, [None]]


def test_a_map_is_the_list_of_its_entries() -> None:
    entries = ListOf(StructOf((Field("key", TEXT, False), Field("value", BIGINT))))
    expression = 'map("a0", "a1")'
    call = DataFusionCall(expression, (ListOf(TEXT), ListOf(BIGINT)), entries)
    keys = _as_spark([["a", "b"], ["c"]], ListOf(TEXT))
    values = _as_spark([[1, None], [3]], ListOf(BIGINT))
    assert DataFusionBatches(call)(keys, values).to_pylist() == [
        [{"key": "a", "value": 1}, {"key": "b", "value": None}],
        [{"key": "c", "value": 3}],
    ]
