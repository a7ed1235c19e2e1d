"""What a preview of changes keeps, and in which order it shows it."""

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import Change
from arroyo_nb.run.results import changes
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import PREVIEW_ROWS
from arroyo_nb.schema import BIGINT, TEXT, WINDOW_STRUCT, Field, Schema, arrow_type

SCHEMA = Schema((Field("k", TEXT), Field("n", BIGINT)))


def batch(*changes):
    """Of (key, value, weight); a row is named by its key."""
    keys, values, weights = zip(*changes, strict=True) if changes else ((), (), ())
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "n": pa.array(values, pa.int64()),
            WEIGHT: pa.array(weights, pa.int64()),
            ROW_ID: pa.array([ord(k) for k in keys], pa.int64()),
        }
    )


def test_a_row_that_changes_stays_where_it_is():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1), ("b", 1, 1), ("c", 1, 1)), 0)
    preview.take(batch(("b", 1, -1), ("b", 2, 1)), 1)
    assert preview.newest(9) == [("a", 1), ("b", 2), ("c", 1)]
    assert preview.table().to_pydict() == {"k": ["a", "b", "c"], "n": [1, 2, 1]}
    # Of too many those that changed last, in the same order.
    assert preview.newest(2) == [("b", 2), ("c", 1)]
    preview.take(batch(("a", 1, -1), ("a", 5, 1)), 2)
    assert preview.newest(2) == [("a", 5), ("b", 2)]


def test_a_row_that_went_and_comes_again_comes_last():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1), ("b", 1, 1)), 0)
    preview.take(batch(("a", 1, -1)), 1)
    preview.take(batch(("a", 1, 1)), 2)
    assert preview.newest(9) == [("b", 1), ("a", 1)]
    assert preview.result_rows == 2


def test_changes_are_told_newest_first():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1)), 0)
    preview.take(batch(("a", 1, -1), ("a", 2, 1), ("b", 1, 1)), 1)
    preview.take(batch(("b", 1, -1)), 2)
    assert preview.newest_changes(2) == (
        Change("d", 2, ("b", 1), None, ord("b")),
        Change("c", 1, None, ("b", 1), ord("b")),
    )
    assert preview.newest_changes(9)[2:] == (
        Change("u", 1, ("a", 1), ("a", 2), ord("a")),
        Change("c", 0, None, ("a", 1), ord("a")),
    )


def test_a_batch_that_comes_again_takes_the_place_of_its_first_try():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1)), 0)
    preview.take(batch(("a", 1, -1)), 1)
    preview.take(batch(("a", 1, -1), ("a", 7, 1)), 1)
    assert preview.table().to_pydict() == {"k": ["a"], "n": [7]}


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 3))
        ),
        max_size=8,
    )
)
def test_the_result_is_what_the_changes_leave(states):
    """Each batch sets some keys to a value, or takes them away."""
    preview, there = ChangesPreview(SCHEMA), {}
    for batch_id, state in enumerate(states):
        made = []
        for key, value in state.items():
            if key in there:
                made.append((key, there.pop(key), -1))
            if value is not None:
                made.append((key, value, 1))
                there[key] = value
        preview.take(batch(*made), batch_id)
        assert dict(preview.newest(9)) == there
        assert preview.result_rows == len(there)


def test_a_result_too_large_to_hold_is_told(monkeypatch):
    monkeypatch.setattr(changes, "RELATION_ROWS", 2)
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(*((k, 1, 1) for k in "abc")), 0)
    preview.take(batch(("a", 1, -1), ("b", 1, -1)), 1)
    assert (preview.newest(9), preview.result_rows) == ([], None)
    assert len(preview.newest_changes(9)) == 5
    with pytest.raises(RunProblem, match="more than 2 rows"):
        preview.table()


def test_a_row_that_is_there_often_counts_as_often(monkeypatch):
    monkeypatch.setattr(changes, "RELATION_ROWS", 5)
    preview = ChangesPreview(SCHEMA, limit_rows=4)
    preview.take(batch(("a", 1, 3), ("b", 1, 2)), 0)
    assert preview.result_rows == 5
    assert preview.table()["k"].to_pylist() == ["a", "a", "a", "b", "b"]
    assert preview.newest(3) == [("a", 1), ("b", 1), ("b", 1)]
    assert (preview.total_rows, preview.kept_rows) == (5, 4)
    assert [c.after[0] for c in preview.newest_changes(9)] == ["b", "b", "a", "a"]
    # Of a batch that comes again as many as came count, not as many as were kept.
    preview.take(batch(("a", 1, 3), ("b", 1, 3)), 0)
    assert (preview.total_rows, preview.result_rows) == (6, None)


def test_no_more_copies_are_made_than_are_kept():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 10**12), ("b", 1, -(10**12)), ("b", 2, 1)), 0)
    assert preview.total_rows == 2 * 10**12 + 1
    assert (preview.kept_rows, preview.result_rows) == (PREVIEW_ROWS, None)
    assert preview.newest(9) == []
    with pytest.raises(RunProblem, match="more than 100,000 rows"):
        preview.table()


def test_a_window_of_which_no_part_is_ever_null():
    schema = Schema((Field("window", WINDOW_STRUCT, nullable=False),))
    preview = ChangesPreview(schema)
    window = {"start": datetime(2024, 1, 1), "end": datetime(2024, 1, 2)}
    rows = pa.table(
        {
            "window": pa.array([window, window], arrow_type(WINDOW_STRUCT)),
            WEIGHT: pa.array([1, -1], pa.int64()),
            ROW_ID: pa.array([1, 1], pa.int64()),
        }
    )
    preview.take(rows.slice(0, 1), 0)
    preview.take(rows.slice(1), 1)
    told = preview.changelog().to_pylist()
    assert [(c["op"], c["before"], c["after"]) for c in told] == [
        ("c", None, {"window": window}),
        ("d", {"window": window}, None),
    ]
