"""Delays as a user writes them, and plans with another delay."""

from datetime import timedelta

import pytest

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.session import Session
from arroyo_nb.whatif.delays import own_delays, read_delays, with_delay

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1s,30m,2h", [SECOND, 1800 * SECOND, 7200 * SECOND]),
        ("0", [0 * SECOND]),
        ("0s, 1ms", [0 * SECOND, SECOND / 1000]),
        (["2h", SECOND, "1s"], [SECOND, 7200 * SECOND]),
        (("0.0m",), [0 * SECOND]),
    ],
)
def test_delays_are_read_ascending_and_once(written, expected):
    assert list(read_delays(written)) == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "missing between the commas"),
        ("1s,,2s", "missing between the commas"),
        ([], "there is no delay"),
        ("1 fortnight", "'1 fortnight' is not a duration"),
        ("-1s", "'-1s' is not a duration"),
        ([-SECOND], "is not a length of time"),
        ([3], "'3' is not a length of time"),
        ([SECOND / 1_000_000], "counts milliseconds"),
        (["40000d"], "longer than a century"),
        (",".join(f"{n}s" for n in range(30)), "30 delays are too many"),
    ],
)
def test_what_is_no_delay_is_refused_with_words(written, message):
    with pytest.raises(RunProblem, match=message):
        read_delays(written)


def planned(sql):
    with Session() as session:
        (sink,) = session.plan(sql).sinks
    return sink


TWO = """CREATE TABLE flights (
  WATERMARK FOR sched_dep AS sched_dep - INTERVAL '5 minutes'
) WITH (connector = 'sample', dataset = 'flights');
CREATE VIEW late AS SELECT * FROM flights WHERE dep_delay > 30;
SELECT tumble(INTERVAL '1 hour') AS w, count(*) FROM late GROUP BY w"""


def test_a_delay_is_changed_below_a_view_and_nothing_else_is():
    sink = planned(TWO)
    assert own_delays(sink) == (300 * SECOND,)
    other = with_delay(sink, 7200 * SECOND)
    assert own_delays(other) == (7200 * SECOND,)
    assert own_delays(sink) == (300 * SECOND,)
    kinds = [type(node) for node in walk(sink)]
    assert [type(node) for node in walk(other)] == kinds
    assert with_delay(other, 300 * SECOND) == sink
    # Nothing is made anew where nothing changes.
    assert with_delay(sink, 300 * SECOND) is sink
    assert nodes.Watermark in kinds


def test_a_watermark_by_an_expression_has_no_delay():
    sql = TWO.replace(
        "sched_dep - INTERVAL '5 minutes'", "date_trunc('hour', sched_dep)"
    )
    try:
        sink = planned(sql)
    except ArroyoError as problem:
        pytest.fail(f"the script is good: {problem}")
    with pytest.raises(RunProblem, match="follows an expression"):
        own_delays(sink)
