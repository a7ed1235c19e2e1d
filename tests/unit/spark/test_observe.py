"""What Spark says of a batch, read."""

from __future__ import annotations

from datetime import timedelta

from arroyo_nb.schema import EPOCH
from arroyo_nb.spark.observe import BINS, read_observed

SECOND = timedelta(seconds=1)


def read(bins):
    panes = [{"x": float(x * 1_000_000), "y": float(y)} for x, y in bins]
    return read_observed({"window:0": {"max_us": 9_000_000, "panes": panes}}, 0)


def test_a_pane_that_several_tasks_saw_is_counted_for_all_of_them():
    observed = read([(0, 3), (1, 2), (1, 5), (1, 1), (7, 4)])
    assert observed.pane_rows == {
        EPOCH: 3,
        EPOCH + SECOND: 8,
        EPOCH + 7 * SECOND: 4,
    }
    assert (observed.rows, observed.exact) == (15, True)


def test_a_full_histogram_may_have_joined_neighbours():
    assert read([(x, 1) for x in range(BINS - 1)]).exact
    assert not read([(x, 1) for x in range(BINS)]).exact
    assert not read([(x // 2, 1) for x in range(BINS)]).exact


def test_what_is_counted_beside_spark_says_itself_whether_it_is_exact():
    panes = [{"x": x * 1_000_000, "y": 1} for x in range(BINS)]
    for exact in (True, False):
        told = {"window:0": {"max_us": 9, "panes": panes, "exact": exact}}
        assert read_observed(told, 0).exact is exact
