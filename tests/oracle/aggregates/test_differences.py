"""A named difference of aggregates excuses the values that its sentence tells, and no
other."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from oracle.aggregates import exact
from oracle.aggregates.differences import Pair, deliberate
from oracle.aggregates.outcomes import OVER, UPDATING, WINDOW, evaluate_there
from oracle.aggregates.rows import COLUMNS, Rows
from oracle.cases import Case, Outcome
from oracle.comparison import compare

NAN, INF = float("nan"), float("inf")


def rows_of(**columns):
    """Rows of one group, in which the other columns are NULL."""
    count = len(next(iter(columns.values())))
    empty = dict.fromkeys(COLUMNS)
    return Rows(
        tuple(
            {**empty, "k": 1, "n": n, **{name: v[n] for name, v in columns.items()}}
            for n in range(count)
        )
    )


SLIDING = " OVER (PARTITION BY k ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
ALONE = SLIDING.replace("1 PRECEDING", "CURRENT ROW").replace("ROWS", "RANGE")
WHOLE = " OVER (PARTITION BY k ORDER BY n)"
# Form, call, its arguments, rows, our values and the name of the difference.
CASES = [
    (
        *(OVER, "count(s) FILTER (WHERE n > 0)" + WHOLE, ("s",)),
        *(rows_of(s=["a", "b", "c"]), [0, 1, 2], "lost clauses"),
    ),
    (
        *(OVER, "sum(DISTINCT i)" + WHOLE, ("i",)),
        *(rows_of(i=[2, 2, 3]), [2, 2, 5], "lost clauses"),
    ),
    (
        *(UPDATING, "array_agg(i)", ("i",)),
        *(rows_of(i=[3, 1, 2]), [[1, 2, 3]], "array_agg, string_agg"),
    ),
    (
        *(WINDOW, "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY i)", ("i",)),
        *(
            rows_of(i=[0, 1, 1000, 1001]),
            [500],
            "approx_distinct, approx_median, "
            "approx_percentile_cont, approx_percentile_cont_with_weight",
        ),
    ),
    (
        *(OVER, "sum(d)" + SLIDING, ("d",)),
        *(rows_of(d=[1e300, 1.0, 2.0]), [1e300, 1e300, 3.0], "exact sums"),
    ),
    (
        *(OVER, "var(d)" + SLIDING, ("d",)),
        *(rows_of(d=[1e9, 1.0, 3.0]), [None, (1e9 - 1) ** 2 / 2, 2.0], "exact sums"),
    ),
    (
        *(OVER, "corr(d, i)" + WHOLE, ("d", "i")),
        *(rows_of(d=[1.0, 1.0], i=[1, 2]), [None, None], "exact sums"),
    ),
    (
        *(UPDATING, "count(DISTINCT d)", ("d",)),
        *(rows_of(d=[0.0, -0.0]), [1], "zeros and NaN"),
    ),
    (
        *(UPDATING, "max(d)", ("d",)),
        *(rows_of(d=[NAN, 1.0, 3.0]), [NAN], "zeros and NaN"),
    ),
    (
        *(OVER, "min(i)" + ALONE, ("i",)),
        *(rows_of(i=[5, None, 1]), [5, None, 1], "lost clauses"),
    ),
    (
        *(UPDATING, "median(i)", ("i",)),
        *(rows_of(i=[2**63 - 1, 2**63 - 3]), [2**63 - 2], "overflows"),
    ),
]


def pair_of(form, call, arguments, rows, values):
    name = call.partition("(")[0]
    case = Case(call, kind=f"{form.name}: {name} of x", operands=arguments)
    (theirs,) = evaluate_there(form, [case], rows)
    assert theirs.type, theirs
    ours = Outcome(type=theirs.type, value=values)
    return Pair(form, case, ours, theirs, rows)


@pytest.mark.parametrize(
    ("form", "call", "arguments", "rows", "values", "name"),
    CASES,
    ids=[f"{case[1].partition(' OVER')[0]}-{case[5][:12]}" for case in CASES],
)
def test_it_excuses_what_it_tells_and_nothing_else(
    form, call, arguments, rows, values, name
):
    pair = pair_of(form, call, arguments, rows, values)
    assert not compare(pair.ours, pair.theirs).agrees, pair.theirs
    assert deliberate(pair) == name, pair.theirs
    for place, value in enumerate(values):
        for other in others(value):
            wrong = [*values[:place], other, *values[place + 1 :]]
            ours = Outcome(type=pair.ours.type, value=wrong)
            assert compare(ours, pair.theirs).agrees or not deliberate(
                replace(pair, ours=ours)
            ), (wrong, pair.theirs)
    ours = Outcome(type="TEXT", value=values)
    assert deliberate(replace(pair, ours=ours)) == ""


def others(value):
    """Values that are near one, and not it."""
    match value:
        case list():
            return [value[:-1], [*value[:-1], None], [*value, 7]]
        case None:
            return [1, NAN]
        case float() if value != value:
            return [None, 0.5]
        case int() | float():
            return [value + abs(value) * 1e-6 + 1, -value - 1, None]
    raise ValueError(value)


@pytest.mark.parametrize(
    ("name", "pairs", "wanted"),
    [
        ("var_pop", [(1.0, 1.0), (3.0, 3.0)], 1.0),
        ("var", [(1.0, 1.0)], None),
        ("stddev", [(1e200, 1e200), (3e200, 3e200)], 2**0.5 * 1e200),
        ("covar_samp", [(1.0, 2.0), (2.0, 4.0)], 1.0),
        ("corr", [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)], 1.0),
        ("corr", [(1.0, 2.0), (1.0, 4.0)], None),
        ("regr_slope", [(1.0, 2.0), (3.0, 3.0)], 2.0),
        ("regr_intercept", [(1.0, 2.0), (3.0, 3.0)], -3.0),
        ("regr_sxy", [(1.0, INF)], NAN),
    ],
)
def test_exact_values_are_those_of_the_textbook(name, pairs, wanted):
    found = exact.moment(name, pairs)
    assert found == wanted or found == pytest.approx(wanted, nan_ok=True)


def test_exact_sums_are_rounded_once():
    assert exact.total([1e16, 1.0, -1e16]) == 1.0
    assert str(exact.total([INF, -INF])) == "nan"
    assert exact.mean([1e308, 1e308]) == 1e308
    assert exact.percentile([1, 2**62], 0.5) == (2**62 + 1) // 2
    assert exact.percentile([Decimal("1.5"), Decimal(2)], 0) == Decimal("1.5")
    assert exact.weighted([(1, 1.0), (2, 3.0)], 0.5) == 2
