"""UDFs in queries: every type in and out, NULLs, errors, redefinition."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.observe.snapshot import RunState

ROWS = [
    {"k": "ab"[n % 2], "x": None if n % 5 == 0 else n, "t": f"2024-01-01T00:00:{n:02}"}
    for n in range(30)
]
TABLE = """
CREATE TABLE r (k TEXT, x BIGINT, t TIMESTAMP NOT NULL,
    WATERMARK FOR t AS t - INTERVAL '1 second'
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""


@dataclass
class Point:
    x: float
    label: str | None


def echo_int(a: int) -> int:
    assert type(a) is int
    return a


def echo_float(a: float) -> float:
    assert type(a) is float
    return a


def echo_text(a: str) -> str:
    assert type(a) is str
    return a


def echo_bool(a: bool) -> bool:
    assert type(a) is bool
    return a


def echo_bytes(a: bytes) -> bytes:
    assert type(a) is bytes
    return a


def echo_time(a: datetime) -> datetime:
    assert type(a) is datetime
    assert a.tzinfo is None
    return a


def echo_date(a: date) -> date:
    assert type(a) is date
    return a


def echo_length(a: timedelta) -> timedelta:
    assert type(a) is timedelta
    return a


def echo_decimal(a: Decimal) -> Decimal:
    assert type(a) is Decimal
    return a


def echo_list(a: Sequence[int]) -> Sequence[int]:
    assert type(a) is list
    return a


def echo_point(a: Point) -> Point:
    assert type(a) is Point
    return a


ECHOES = [
    (echo_int, "x", [None, 1, 2, 3, 4]),
    (echo_int, "CAST(x AS SMALLINT)", [None, 1, 2, 3, 4]),
    (echo_float, "x / 2.0", [None, 0.5, 1.0, 1.5, 2.0]),
    (echo_float, "CAST(x AS REAL)", [None, 1.0, 2.0, 3.0, 4.0]),
    (
        echo_text,
        "k || 'é\N{GRINNING FACE}'",
        [f"{c}é\N{GRINNING FACE}" for c in "ababa"],
    ),
    (echo_bool, "x > 2", [None, False, False, True, True]),
    (echo_bytes, "CAST(k AS BYTEA)", [b"a", b"b", b"a", b"b", b"a"]),
    (echo_time, "t", [datetime(2024, 1, 1, second=n) for n in range(5)]),
    (echo_date, "CAST(t AS DATE)", [date(2024, 1, 1)] * 5),
    (
        echo_length,
        "t - TIMESTAMP '2024-01-01'",
        [timedelta(seconds=n) for n in range(5)],
    ),
    (
        echo_decimal,
        "CAST(x AS DECIMAL(10, 2)) / 4",
        [None, *map(Decimal, ("0.25", "0.5", "0.75", "1"))],
    ),
    (echo_list, "make_array(x, x)", [[n, n] for n in (None, 1, 2, 3, 4)]),
    (
        echo_point,
        "named_struct('x', CAST(x AS DOUBLE), 'label', k)",
        [
            {"x": x, "label": k}
            for x, k in zip((None, 1.0, 2.0, 3.0, 4.0), "ababa", strict=True)
        ],
    ),
]


def declared(session, folder):
    """The session, that knows the table of the rows."""
    path = folder / "rows.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    session.run(TABLE.format(path=path))
    return session


@pytest.fixture
def r(session, tmp_path):
    return declared(session, tmp_path)


def column(session, sql, **options):
    run = session.run(sql, wait=True, **options)
    return run.table().column(0).to_pylist()


@pytest.fixture(scope="module")
def echoed(lasting_session, tmp_path_factory):
    """Gives what came back of an echo, and its argument: all are columns of one run.
    Where that fails each is a run of its own, so that only those fail that do."""
    session = declared(lasting_session, tmp_path_factory.mktemp("echoes"))
    for function in {function for function, _, _ in ECHOES}:
        session.register(function)
    items = [
        f"{function.__name__}({argument}) AS y{n}, {argument} AS x{n}"
        for n, (function, argument, _) in enumerate(ECHOES)
    ]

    def table(items):
        return session.run(f"SELECT {', '.join(items)} FROM r", wait=True).table()

    try:
        every = table(items)
    except ArroyoError:
        return lambda number: table([items[number]])
    return lambda number: every.select([f"y{number}", f"x{number}"])


@pytest.mark.parametrize("number", range(len(ECHOES)))
def test_a_value_comes_back_as_it_went(echoed, number):
    _, _, expected = ECHOES[number]
    back, went = echoed(number).columns
    assert back.to_pylist()[: len(expected)] == expected
    kind = went.type
    if not pa.types.is_decimal(kind) and kind not in (pa.int16(), pa.float32()):
        assert back.type == kind


def test_a_null_is_a_value_where_the_author_says_so(r):
    def shown(k: str, x: int | None) -> str:
        return f"{k}{x}"

    r.register(shown)
    got = column(r, "SELECT shown(k, x) AS y FROM r")
    assert got[:3] == ["aNone", "b1", "a2"]
    assert column(r, "SELECT shown(CAST(NULL AS TEXT), x) AS y FROM r") == [None] * 30


def test_whole_batches(r):
    r.register_source(
        """
import pandas as pd, pyarrow as pa, pyarrow.compute as pc
from arroyo_nb import udf
@udf(input=[int, int], output=int)
def both(a: pa.Array, b: pd.Series) -> pa.Array:
    return pc.add(a, pa.array(b))
@udf(input=[str], output=int)
def sizes(a: pd.Series) -> pd.Series:
    return a.str.len()
@udf(input=[int], output=int)
def short(a: pa.Array) -> pa.Array:
    return a.slice(1)
"""
    )
    sql = "SELECT both(x, x + 1) AS y, sizes(k || k) AS z FROM r"
    table = r.run(sql, wait=True).table()
    assert table["y"].to_pylist()[:4] == [None, 3, 5, 7]
    assert table["z"].to_pylist() == [2] * 30
    with pytest.raises(ArroyoError, match="gave 23 values for 24 rows"):
        r.run("SELECT short(x) AS y FROM r", wait=True)


def expected_groups(of):
    groups = {}
    for row in ROWS:
        groups.setdefault(row["k"], []).append(row["x"])
    return {k: of(values) for k, values in groups.items()}


def known(values):
    return [x for x in values if x is not None]


def middle(v: list[int]) -> int | None:
    return statistics.median_high(v) if v else None


def gaps(v: list[int | None], w: list[int]) -> int:
    return len(v) * 1000 + len(w)


def test_all_values_of_a_group(r):
    r.register(middle)
    r.register(gaps)
    sql = "SELECT k, middle(x) AS m, gaps(x, x) AS g, count(*) AS n FROM r GROUP BY k"
    rows = r.run(sql, wait=True).table().to_pylist()
    medians = expected_groups(lambda v: statistics.median_high(known(v)))
    counts = expected_groups(lambda v: len(v) * 1000 + len(known(v)))
    assert {row["k"]: row["m"] for row in rows} == medians
    assert {row["k"]: row["g"] for row in rows} == counts
    sql = """SELECT k, tumble(INTERVAL '10 seconds') AS w, middle(x) AS m,
        middle(x) FILTER (WHERE x > 5) AS f FROM r GROUP BY k, w"""
    rows = r.run(sql, wait=True).table().to_pylist()
    assert len(rows) == 6
    first = next(row for row in rows if row["k"] == "b")
    values = [1, 3, 7, 9]
    assert (first["m"], first["f"]) == (
        statistics.median_high(values),
        statistics.median_high([7, 9]),
    )


def test_an_aggregate_of_an_aggregate_takes_values_back(r):
    """The inner counts change with each row: what the outer one saw is retracted."""
    r.register(middle)
    sql = """SELECT middle(n) AS y FROM
        (SELECT k, x % 7 AS m, count(*) AS n FROM r GROUP BY k, x % 7)"""
    run = r.run(sql, wait=True)
    counts = {}
    for row in ROWS:
        key = row["k"], None if row["x"] is None else row["x"] % 7
        counts[key] = counts.get(key, 0) + 1
    assert run.table().column(0).to_pylist() == [
        statistics.median_high(counts.values())
    ]


def test_a_class_takes_one_value_after_the_other(r):
    r.register_source(
        """
import math
from arroyo_nb import udaf
@udaf
class GeoMean:
    def __init__(self):
        self.logs, self.n = 0.0, 0
    def accumulate(self, x: int):
        self.logs, self.n = self.logs + math.log(x), self.n + 1
    def retract(self, x: int):
        self.logs, self.n = self.logs - math.log(x), self.n - 1
    def merge(self, other):
        self.logs, self.n = self.logs + other.logs, self.n + other.n
    def finish(self) -> float | None:
        return math.exp(self.logs / self.n) if self.n else None
"""
    )
    rows = r.run("SELECT k, geomean(x) AS g FROM r GROUP BY k", wait=True).table()
    want = expected_groups(lambda v: statistics.geometric_mean(known(v)))
    got = dict(zip(rows["k"].to_pylist(), rows["g"].to_pylist(), strict=True))
    assert got == pytest.approx(want)
    # Values are taken back: the inner counts change with each row.
    sql = """SELECT geomean(n) AS y, geomean(DISTINCT n) AS d FROM
        (SELECT x % 7 AS m, count(*) AS n FROM r GROUP BY x % 7)"""
    rows = r.run(sql, wait=True).table().to_pylist()
    counts = Counter(row["x"] and row["x"] % 7 for row in ROWS).values()
    (last,) = rows
    assert last["y"] == pytest.approx(statistics.geometric_mean(counts))
    assert last["d"] == pytest.approx(statistics.geometric_mean(set(counts)))
    sql = """SELECT k, tumble(INTERVAL '1 minute') AS w,
        geomean(x) FILTER (WHERE x > 5) AS g FROM r GROUP BY k, w"""
    rows = r.run(sql, wait=True).table().to_pylist()
    want = expected_groups(
        lambda v: statistics.geometric_mean([x for x in known(v) if x > 5])
    )
    assert {row["k"]: row["g"] for row in rows} == pytest.approx(want)


def test_calls_that_wait_wait_together(r):
    r.register_source(
        """
import asyncio
from arroyo_nb import udf
at_once = 0
most = 0
@udf(allowed_in_flight=4)
async def ask(x: int) -> int:
    global at_once, most
    at_once += 1
    most = max(most, at_once)
    await asyncio.sleep(0.02)
    at_once -= 1
    return x * 100 + most
"""
    )
    got = known(column(r, "SELECT ask(x) AS y FROM r"))
    assert [y // 100 for y in got] == [x["x"] for x in ROWS if x["x"] is not None]
    assert max(y % 100 for y in got) == 4


def test_a_call_that_takes_too_long(r):
    source = """
import asyncio
from arroyo_nb import udf
@udf(timeout="50ms"{more})
async def slow(x: int) -> int:
    await asyncio.sleep(30 if x == 3 else 0)
    return x
"""
    r.register_source(source.format(more=""))
    sql = "SELECT slow(x) AS y FROM r"
    with pytest.raises(
        ArroyoError, match=r"longer than its timeout of 0\.05 s"
    ) as told:
        r.run(sql, wait=True)
    assert told.value.hint.startswith("called with x = 3; on_timeout='null'")
    r.register_source(source.format(more=", on_timeout='null'"))
    assert column(r, sql)[:5] == [None, 1, 2, None, 4]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT k FROM r WHERE ask(x) > 3", "but ask was called in another context"),
        ("SELECT sum(ask(x)) AS y FROM r", "but ask was called in another context"),
        ("SELECT ask(x), ask(x + 1) AS z FROM r", "contains multiple async UDFs"),
        ("SELECT ask(ask(x)) AS y FROM r", "multiple async calls in the same"),
    ],
)
def test_where_async_functions_are_called(r, sql, said):
    async def ask(x: int) -> int:
        return x

    r.register(ask)
    with pytest.raises(ArroyoError, match=said) as told:
        r.plan(sql)
    assert told.value.span is not None


def test_async_functions_are_called_one_after_the_other(r):
    async def ask(x: int) -> int:
        return x

    r.register(ask)
    assert column(r, "SELECT ask(y) + 1 AS z FROM (SELECT ask(x) AS y FROM r)")[1] == 2


def test_case_calls_only_for_its_rows(r):
    def ratio(x: int) -> float:
        return 1 / (x - 7)

    r.register(ratio)
    sql = """SELECT CASE WHEN x = 7 THEN 0.0 WHEN ratio(x) < 0 THEN -1.0
        ELSE ratio(x) END AS y FROM r"""
    got = column(r, sql)
    assert got[6:9] == [-1.0, 0.0, 1.0]
    # Nor are its arguments computed for other rows.
    sql = "SELECT CASE WHEN x <> 8 THEN ratio(840 / (x - 8)) ELSE 0 END AS y FROM r"
    assert column(r, sql)[8] == 0.0
    # A condition that is drawn is drawn once.
    sql = """SELECT CASE WHEN random() > 0.5 THEN ratio(x + 100) ELSE -1.0 END AS y
        FROM r WHERE x IS NOT NULL"""
    assert None not in column(r, sql)
    arms = " ".join(f"WHEN ratio(x + {n}) > 9 THEN {n}" for n in range(100, 130))
    assert column(r, f"SELECT CASE {arms} ELSE 0 END AS y FROM r WHERE x > 7")[0] == 0


def test_coalesce_and_filter_call_only_for_their_rows(r):
    def ratio(x: int) -> float | None:
        return 1 / (x - 7) if x < 9 else None

    def twice(x: float) -> float:
        return 2 / (x - 9)  # never called for x = 9

    r.register(ratio)
    r.register(twice)
    sql = "SELECT coalesce(nullif(x, 7), ratio(x + 1)) AS y FROM r WHERE x IS NOT NULL"
    assert column(r, sql)[5] == 1.0
    sql = "SELECT nvl2(nullif(x, 7), ratio(x), -1.0) AS y FROM r WHERE x < 9"
    assert column(r, sql)[-2:] == [-1.0, 1.0]
    sql = "SELECT coalesce(ratio(x), twice(x)) AS y FROM r WHERE x = 8 OR x = 11"
    assert column(r, sql) == [1.0, 1.0]
    # The value of a row that another argument decides is not computed either.
    sql = "SELECT coalesce(CASE WHEN x = 9 THEN 0.0 END, twice(x)) AS y FROM r"
    assert column(r, f"{sql} WHERE x > 8")[:2] == [0.0, 1.0]
    total = "sum(ratio(x)) FILTER (WHERE x = 6 OR x = 8)"
    assert column(r, f"SELECT {total} AS y FROM r")[-1] == 0.0
    total = "array_agg(x ORDER BY ratio(x)) FILTER (WHERE x = 6 OR x = 8)"
    assert column(r, f"SELECT {total} AS y FROM r")[-1] == [6, 8]


def test_of_three_arguments_each_is_called_only_where_those_before_are_null(r):
    def second(x: int) -> int | None:
        return 1 // (x - 7) or None  # 7 is never asked for

    def third(x: int) -> int:
        return 1 // (x - 8)

    r.register(second)
    r.register(third)
    sql = """SELECT coalesce(CASE WHEN x = 7 THEN 70 END, second(x), third(x)) AS y
        FROM r WHERE x > 6"""
    assert column(r, sql)[:3] == [70, 1, 1]
    # What fails for other rows is no matter, whatever it is.
    sql = """SELECT CASE WHEN x <> 8 THEN second(-(10 / (x - 8))) ELSE 0 END AS y
        FROM r WHERE x = 8"""
    assert column(r, sql) == [0]


def test_what_no_text_says_is_as_it_is_when_a_run_starts(r):
    class Model:
        def __init__(self, value):
            self.value = value

    model = Model(5)

    def guess(x: int) -> int:
        return x + model.value

    def guesses(x: list[int]) -> int:
        return sum(x) + model.value

    r.register(guess)
    r.register(guesses)
    sql = """SELECT guess(x) AS a, CASE WHEN x > 0 THEN guess(x) END AS b, g AS c FROM
        (SELECT x, tumble(INTERVAL '1 second') AS w, guesses(x) AS g FROM r
         WHERE x = 1 GROUP BY x, w)"""
    for value in (5, 7):
        model.value = value
        run = r.run(sql, wait=True)
        assert run.table().to_pylist() == [dict.fromkeys("abc", 1 + value)]


def test_conditions_of_case_call_only_for_their_rows(r):
    def ratio(x: int) -> float:
        return 1 / (x - 7)

    def same(x: int) -> int:
        return x

    r.register(ratio)
    r.register(same)
    sql = """SELECT CASE WHEN same(x) = 7 THEN 0.0 WHEN ratio(x) > 0.4 THEN 3.0
        ELSE 4.0 END AS y FROM r WHERE x > 6"""
    assert column(r, sql)[:3] == [0.0, 3.0, 3.0]
    sql = """SELECT CASE WHEN x = 8 THEN ratio(x) WHEN random() < 2 THEN -1.0 END AS y
        FROM r WHERE x > 6 AND x < 9"""
    assert column(r, sql) == [-1.0, 1.0]


def test_a_distinct_aggregate_in_an_order_of_its_own(r):
    def joined(x: list[float]) -> str:
        return ",".join(f"{one:g}" for one in x)

    r.register(joined)
    sql = "SELECT joined(DISTINCT x ORDER BY x DESC) AS y FROM r WHERE x < 4"
    assert column(r, sql) == ["3,2,1"]


def test_an_async_function_is_asked_once(r, tmp_path):
    asked = tmp_path / "asked"

    async def ask(x: int) -> int | None:
        with asked.open("a") as file:
            file.write("x")
        return x if x > 8 else None

    def other(x: int) -> int:
        return -x

    r.register(ask)
    r.register(other)
    sql = "SELECT coalesce(ask(x), other(x)) AS y FROM r WHERE x = 8 OR x = 9"
    assert column(r, sql) == [-8, 9]
    assert asked.read_text() == "xx"


def test_an_error_says_line_arguments_and_place(r):
    def ratio(x: int, secret: str) -> float:
        below = x - 7
        return 1 / below

    r.register(ratio)
    with pytest.raises(ArroyoError) as told:
        r.run("SELECT k,\n  ratio(x, k) AS y FROM r", wait=True)
    text = str(told.value)
    assert text.startswith("<cell>:2:3: failed while calling Python UDF 'ratio': Zero")
    assert "division by zero, at line " in text
    assert text.splitlines()[0].endswith(": return 1 / below")
    assert "called with x = 7, secret = 'b'" in text
    assert not told.value.lasting


@pytest.mark.parametrize(
    ("options", "shown", "hint"),
    [
        ("", "'seven' (str)", "called with x = 7"),
        ("redact=True", "a value of type str", "its arguments are not shown"),
    ],
)
def test_a_result_of_another_type(r, options, shown, hint):
    r.register_source(
        f"from arroyo_nb import udf\n@udf({options})\n"
        "def odd(x: int) -> int:\n    return 'seven' if x == 7 else x\n"
    )
    said = f"could not convert results from Python UDF 'odd' to arrow: {shown} is no"
    with pytest.raises(ArroyoError, match=re.escape(said)) as told:
        r.run("SELECT odd(x) AS y FROM r", wait=True)
    assert told.value.hint.startswith(hint)


def test_errors_may_be_null(r):
    r.register_source(
        "from arroyo_nb import udf\n@udf(on_error='null')\n"
        "def ratio(x: int) -> float:\n    return 1 / (x - 7)\n"
    )
    got = column(r, "SELECT ratio(x) AS y FROM r")
    assert got[6:9] == [-1.0, None, 1.0]


def test_a_definition_is_for_runs_that_start_later(r):
    def twice(x: int) -> int:
        return 2 * x

    r.register(twice)
    r.run("CREATE VIEW v AS SELECT twice(x) AS y FROM r")
    run = r.run("SELECT twice(x) AS y FROM r", name="before", step=True)
    assert r.callers("twice") == ["before"]

    def twice(x: int) -> int:
        return 2 * x + 1000

    r.register(twice)
    run.resume()
    assert run.wait(60)
    assert run.state is RunState.FINISHED
    assert run.table()["y"].to_pylist()[1] == 2
    assert column(r, "SELECT twice(x) AS y FROM r")[1] == 1002
    assert column(r, "SELECT y FROM v")[1] == 2
    assert r.callers("twice") == []


def test_a_function_everywhere_an_expression_may_be(r):
    def even(x: int) -> bool:
        return x % 2 == 0

    r.register(even)
    assert column(r, "SELECT x FROM r WHERE even(x) AND x > 25") == [26, 28]
    sql = "SELECT even(x) AS e, count(*) AS n FROM r GROUP BY even(x)"
    rows = r.run(sql, wait=True).table().to_pylist()
    assert {row["e"]: row["n"] for row in rows} == {None: 6, True: 12, False: 12}
    sql = """SELECT sum(CAST(even(x) AS INT)) AS s, tumble(INTERVAL '1 minute') AS w
        FROM r GROUP BY w"""
    assert column(r, sql) == [12]
    sql = """SELECT a.x FROM r AS a JOIN r AS b ON a.x = b.x AND even(a.x)"""
    assert sorted(column(r, sql)) == [n for n in range(30) if n % 2 == 0 and n % 5]


def test_volatile_functions_are_not_taken_back(r):
    r.register_source(
        "import random\nfrom arroyo_nb import udf\n@udf(volatile=True)\n"
        "def luck(x: int) -> float:\n    return random.random()\n"
    )
    with pytest.raises(
        ArroyoError, match="gives another value when a row is taken back"
    ):
        r.plan("SELECT luck(n) AS y FROM (SELECT k, count(*) AS n FROM r GROUP BY k)")
    assert len(set(column(r, "SELECT luck(x) AS y FROM r"))) == 25


def test_a_million_rows(session, tmp_path):
    import pyarrow.parquet as pq

    rows = 1_000_000
    folder = tmp_path / "big"
    folder.mkdir()
    table = pa.table({"x": pa.array(range(rows)), "s": pa.array(["é"] * rows)})
    pq.write_table(table, folder / "part.parquet")
    session.run(
        f"CREATE TABLE big (x BIGINT, s TEXT) WITH (connector = 'filesystem', "
        f"path = '{folder}', type = 'source', format = 'parquet')"
    )

    def longer(x: int, s: str) -> int:
        return x + len(s)

    session.register(longer)
    sql = "SELECT sum(longer(x, s)) AS y FROM big"
    run = session.run(sql, wait=True)
    assert run.table()["y"].to_pylist() == [rows * (rows - 1) // 2 + rows]


def test_a_job_has_its_functions(r, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def twice(x: int) -> int:
        return 2 * x

    r.register(twice)
    out = tmp_path / "out.json"
    r.run(
        f"CREATE TABLE o (y BIGINT) WITH (connector = 'single_file', path = '{out}', "
        "type = 'sink', format = 'json'); INSERT INTO o SELECT twice(x) AS y FROM r",
        name="doubled",
        wait=True,
    )
    r.promote("doubled")
    from arroyo_nb.jobs import spec_file

    made = spec_file.load(tmp_path / "jobs/doubled/job.yaml")
    assert [udf.name for udf in made.spec.udfs] == ["twice"]
    assert "def twice" in made.spec.udfs[0].source
    assert made.check_runs_here().sinks


def test_what_means_nothing_elsewhere_is_not_promoted(r):
    model = object()

    def guess(x: int) -> int:
        return hash(model) + x

    r.register(guess)
    r.run("SELECT guess(x) AS y FROM r", name="guessing", wait=True)
    with pytest.raises(ArroyoError, match="'guess' cannot leave its notebook") as told:
        r.promote("guessing")
    assert told.value.span is not None


EVERYWHERE = (
    "SELECT there(x + 1) AS y FROM s",
    "SELECT x FROM s WHERE there(x) > 3",
    "SELECT x FROM s WHERE there(x) > 3 AND k = 'a'",
    "SELECT there(x) AS y, count(*) AS n FROM s GROUP BY there(x)",
    "SELECT sum(there(x)) AS y FROM s",
    "SELECT sum(there(x)) AS y, tumble(INTERVAL '9 s') AS w FROM s GROUP BY w",
    "SELECT there(x) AS y, hop(INTERVAL '5 seconds', INTERVAL '10 seconds') AS w, "
    "count(*) AS n FROM s GROUP BY y, w",
    "SELECT s.x FROM s JOIN s AS u ON there(s.x) = there(u.x)",
)


def test_no_row_of_ours_is_a_row_to_a_function(session, tmp_path):
    """The end of a stream is a row of NULLs, which no function may see."""
    path = tmp_path / "rows.json"
    rows = [{**row, "x": n} for n, row in enumerate(ROWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session.run(TABLE.format(path=path).replace("TABLE r", "TABLE s"))

    def there(x: int | None) -> int:
        assert x is not None
        return x

    session.register(there)
    # An error says which query it is of: its line.
    run = session.run(";\n".join(EVERYWHERE), wait=True)
    for output, sql in enumerate(EVERYWHERE):
        assert run.table(output).num_rows, sql


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(3)", "a Python worker of Spark ended by itself"),
        ("os.kill(os.getpid(), 9)", "a Python worker of Spark ended by itself"),
        ("return odd(x)", "RecursionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_session_survives_what_a_function_does(r, body, said):
    r.register_source(
        "import os\nfrom arroyo_nb import udf\n@udf\n"
        f"def odd(x: int) -> int:\n    {body}\n"
    )
    with pytest.raises(ArroyoError, match=said):
        r.run("SELECT odd(x) AS y FROM r", wait=True)
    assert column(r, "SELECT x FROM r WHERE x = 3") == [3]


def test_retracts_that_come_alone(r):
    """A micro-batch that only takes back has an object of its own."""
    r.register_source(
        """
from collections import Counter
from arroyo_nb import udaf
@udaf
class Kinds:
    def __init__(self):
        self.seen = Counter()
    def accumulate(self, x: int):
        self.seen[x] += 1
    def retract(self, x: int):
        self.seen[x] -= 1
    def merge(self, other):
        self.seen.update(other.seen)
    def finish(self) -> int:
        return sum(n > 0 for n in self.seen.values())
"""
    )
    sql = """SELECT kinds(n) AS y FROM (SELECT x % 7 AS m, count(*) AS n FROM r
        GROUP BY x % 7)"""
    counts = Counter(row["x"] and row["x"] % 7 for row in ROWS).values()
    assert column(r, sql) == [len(set(counts))]


def test_an_aggregate_that_fails_says_where(r):
    r.register_source(
        """
from arroyo_nb import udaf
@udaf
class Bad:
    def __init__(self):
        self.n = 0
    def accumulate(self, x: int):
        self.n += x
    def retract(self, x: int):
        self.n -= x
    def merge(self, other):
        self.n += other.n
    def finish(self) -> int:
        return 1 // (self.n - self.n)
"""
    )
    with pytest.raises(ArroyoError, match="UDF 'bad': ZeroDivisionError") as told:
        r.run("SELECT k, bad(x) AS y FROM r GROUP BY k", wait=True)
    assert told.value.span is not None


def test_a_model_that_is_loaded_again_is_another_function(r):
    model = {"factor": object()}

    def guess(x: int) -> int:
        return x * sizes[0] + (model is None)

    sizes = [1, object()]
    r.register(guess)
    assert column(r, "SELECT guess(x) AS y FROM r")[2] == 2
    sizes[0] = 10
    r.register(guess)
    assert column(r, "SELECT guess(x) AS y FROM r")[2] == 20
