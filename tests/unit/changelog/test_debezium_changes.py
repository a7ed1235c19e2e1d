"""Debezium documents in and out, against tables that apply them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from histories import histories, plain, table
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.changelog.debezium_changes import documents, unrolled
from arroyo_nb.changelog.zset import fold
from arroyo_nb.errors import RunProblem

ROW = pa.struct({"id": pa.int64(), "v": pa.list_(pa.int64())})
DOCUMENT = pa.schema({"before": ROW, "after": ROW, "op": pa.string()})
CHANGES = pa.schema({"id": pa.int64(), "v": pa.float64(), "_row_id": pa.int64()})


def row(id_: int | None, *v: int) -> dict[str, Any]:
    return {"id": id_, "v": list(v)}


def document(before: Any, after: Any, op: str | None) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op}


def test_documents_are_unrolled_in_order_with_their_time():
    day = datetime(2024, 1, 1)
    schema = DOCUMENT.append(pa.field("_timestamp", pa.timestamp("us")))
    rows = [
        document(None, row(1, 7), "c"),
        document(row(1, 7), row(2, 8), "u"),  # the key changes: a delete and a create
        document(None, None, None),  # a tombstone
        document(row(2, 8), None, "d"),
        document(None, row(3), "r"),
        document(None, row(4), "u"),  # without REPLICA IDENTITY FULL
    ]
    found = unrolled(
        pa.Table.from_pylist([r | {"_timestamp": day} for r in rows], schema)
    )
    assert found["_timestamp"].to_pylist() == [day] * 6
    assert found.select(["id", "v", "_weight"]).to_pylist() == [
        row(1, 7) | {"_weight": 1},
        row(1, 7) | {"_weight": -1},
        row(2, 8) | {"_weight": 1},
        row(2, 8) | {"_weight": -1},
        row(3) | {"_weight": 1},
        row(4) | {"_weight": 1},
    ]


def test_no_documents_are_no_changes():
    assert unrolled(DOCUMENT.empty_table()).schema.names == ["id", "v", "_weight"]
    assert len(documents(table([], CHANGES))) == 0


def test_an_unknown_op_is_an_error():
    rows = pa.Table.from_pylist([document(None, row(1), "x")], DOCUMENT)
    with pytest.raises(RunProblem, match="unexpected op value 'x'"):
        unrolled(rows)


def written(*changes: tuple[int, float, int | None, int]) -> list[tuple]:
    rows = [({"id": i, "v": v, "_row_id": n}, w) for i, v, n, w in changes]
    found = documents(table(rows, CHANGES)).to_pylist()
    return [
        (d["op"], d["before"] and d["before"]["v"], d["after"] and d["after"]["v"])
        for d in found
    ]


def test_changes_of_one_row_in_a_batch_are_one_document():
    come, go = (1, 1.0, 1, 1), (1, 1.0, 1, -1)
    other, other_goes = (1, 2.0, 1, 1), (1, 2.0, 1, -1)
    assert written(come, go, other) == [("c", None, 2.0)]
    assert written(go, other, other_goes) == [("d", 1.0, None)]
    assert written(come, go) == []
    assert written(go, other, other_goes, come) == []
    assert written((2, 5.0, 2, -1), go, other, (2, 6.0, 2, 1)) == [
        ("u", 5.0, 6.0),
        ("u", 1.0, 2.0),
    ]


def test_rows_without_a_name_are_not_merged():
    assert written((1, 1.0, None, -1), (1, 2.0, None, 2)) == [
        ("d", 1.0, None),
        ("c", None, 2.0),
        ("c", None, 2.0),
    ]


ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2),
        "v": st.sampled_from([0.5, 1.5, None]),
        "_row_id": st.none() | st.integers(0, 1),
    }
)


@given(histories(ROWS))
def test_a_table_that_applies_the_documents_holds_what_the_changelog_leaves(history):
    applied: Counter = Counter()
    there: list = []
    for batch in history:
        changes = table(batch, CHANGES)
        for d in documents(changes).to_pylist():
            before, after = (d[x] and plain(d[x]) for x in ("before", "after"))
            assert before != after
            assert d["op"] == {(True, False): "d", (False, True): "c"}.get(
                (before is not None, after is not None), "u"
            )
            applied.update([after] if after else [])
            applied.subtract([before] if before else [])
        there.append(changes)
        left = fold(pa.concat_tables(there)).select(["id", "v"])
        assert +applied == Counter(map(plain, left.to_pylist()))
        assert min(applied.values(), default=0) >= 0
