"""What a worker does with a batch: NULLs, conditions, empty batches; without a JVM."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from arroyo_nb.codecs.python_values import arrow_values, python_values
from arroyo_nb.errors import ArroyoError
from arroyo_nb.schema import arrow_type
from arroyo_nb.source import ScriptText
from arroyo_nb.spark.user_functions import BatchFunction
from arroyo_nb.udfs.languages import read_definitions

HEAD = """
from datetime import date, datetime, timedelta
from decimal import Decimal
from arroyo_nb import udf
calls = []
"""


def batch_function(text, **more):
    (udf,) = read_definitions(ScriptText(HEAD + text), "python")
    made = BatchFunction(
        udf.batch_call(),
        tuple(arrow_type(p.type) for p in udf.parameters),
        tuple(p.optional for p in udf.parameters),
        arrow_type(udf.result),
        **more,
    )
    # As it gets to a worker.
    return cloudpickle.loads(cloudpickle.dumps(made))


ADD = "@udf\ndef add(a: int, b: int | None) -> int:\n    return a + (b or 0)\n"
ONCE = "@udf\ndef once(a: int) -> int:\n    return 1 // a\n"


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ([], [], []),
        ([1, 2], [10, 20], [11, 22]),
        ([1, None, 3], [10, 20, None], [11, None, 3]),
        ([None, None], [1, 2], [None, None]),
    ],
)
def test_nulls_that_are_no_values(a, b, result):
    arrays = (pa.array(a, pa.int64()), pa.array(b, pa.int64()))
    assert batch_function(ADD)(*arrays).to_pylist() == result


@pytest.mark.parametrize(
    ("condition", "a", "result"),
    [
        ([True, False, None, True], [1, 0, 0, None], [1, None, None, None]),
        ([False, False], [0, 0], [None, None]),
        ([], [], []),
    ],
)
def test_it_is_called_where_a_condition_is_true(condition, a, result):
    function = batch_function(ONCE, guarded=True)
    arrays = (pa.array(condition, pa.bool_()), pa.array(a, pa.int64()))
    assert function(*arrays).to_pylist() == result


def test_times_have_a_zone_for_spark_alone():
    function = batch_function(
        "@udf\ndef next_year(t: datetime) -> datetime:\n"
        "    assert t.tzinfo is None\n    return t.replace(year=t.year + 1)\n"
    )
    moment = datetime(2024, 1, 2, 3, 4, 5, 6)
    given = pa.array([moment, None], pa.timestamp("us", "UTC"))
    made = function(given)
    assert made.type == pa.timestamp("us", "UTC")
    assert made.cast(pa.timestamp("us")).to_pylist() == [
        moment.replace(year=2025),
        None,
    ]


def test_decimals_keep_their_digits():
    function = batch_function(
        "@udf\ndef third(x: Decimal) -> Decimal:\n    return x / 3\n"
    )
    given = pa.array([Decimal("1.00"), Decimal("0.30")])
    first, second = function(given).to_pylist()
    assert first == Decimal("0.333333333333333333")
    assert second == Decimal("0.1")


ODD = [
    ("'a' + chr(0)", "str", None),
    ("'\\ud800'", "str", "could not convert results"),
    ("2 ** 63", "int", "could not convert results"),
    ("1.5", "int", "could not convert results"),
    ("None", "int", r"None is no int\n"),
    ("float('nan')", "float", None),
    ("b'a'", "str", r"b'a' \(bytes\) is no str"),
    ("'a'", "bytes", r"'a' \(str\) is no bytes"),
    ("object()", "str", "could not convert results"),
    ("Decimal('NaN')", "Decimal", "could not convert results"),
    ("Decimal(10) ** 30", "Decimal", "could not convert results"),
]


@pytest.mark.parametrize(("value", "type_", "said"), ODD)
def test_odd_results_are_values_or_told(value, type_, said):
    function = batch_function(
        f"@udf\ndef odd(a: int) -> {type_}:\n    return {value}\n"
    )
    if said is None:
        assert len(function(pa.array([1, 2]))) == 2
        return
    with pytest.raises(ArroyoError, match=said) as told:
        function(pa.array([1, 2]))
    assert told.value.hint.endswith("called with a = 1")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return odd(a)", "RecursionError: maximum recursion"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError('line one\\nline two')", "ValueError: line one"),
        ("raise Unprintable", "Unprintable"),
        ("return missing", "NameError: name 'missing' is not defined"),
    ],
)
def test_whatever_is_raised_is_told(body, said):
    function = batch_function(
        "class Unprintable(Exception):\n    def __str__(self): return 1 / 0\n"
        f"@udf\ndef odd(a: int) -> int:\n    {body}\n"
    )
    with pytest.raises(ArroyoError, match=said) as told:
        function(pa.array([1]))
    assert "failed while calling Python UDF 'odd': " in told.value.message


def test_arguments_are_shown_in_short():
    function = batch_function(
        "@udf\ndef odd(a: str) -> int:\n    raise ValueError(a)\n"
    )
    with pytest.raises(ArroyoError) as told:
        function(pa.array(["x" * 10_000]))
    assert len(str(told.value)) < 600


def test_values_of_every_type_come_back():
    for array in (
        pa.array([1, 2]),
        pa.array([1, None]),
        pa.array([1.5, None]),
        pa.array([True, None]),
        pa.array(["é", None]),
        pa.array([b"a", None]),
        pa.array([[1, None], None]),
        pa.array([{"a": 1}, None]),
        pa.array([Decimal("1.5"), None]),
        pa.array([datetime(1, 1, 1), datetime(9999, 12, 31), None], pa.timestamp("us")),
        pa.array([1, None], pa.duration("us")),
        pa.array([1, None], pa.date32()),
    ):
        for part in (array, array.slice(1), array.slice(0, 0)):
            assert arrow_values(python_values(part), part.type).equals(part)


ENDS = ["StopIteration", "SystemExit(3)", "GeneratorExit", "asyncio.CancelledError"]


@pytest.mark.parametrize("raised", ENDS)
@pytest.mark.parametrize(
    "text",
    [
        "@udf{options}\ndef odd(a: int) -> int:\n    raise {raised}\n",
        "@udf{options}\nasync def odd(a: int) -> int:\n    raise {raised}\n",
        "@udf(input=[int], output=int{more})\n"
        "def odd(a: pa.Array) -> pa.Array:\n    raise {raised}\n",
    ],
)
def test_what_ends_a_loop_or_a_process_is_an_error_of_the_call(text, raised):
    head = "import asyncio\nimport pyarrow as pa\n"
    function = batch_function(head + text.format(raised=raised, options="", more=""))
    with pytest.raises(ArroyoError, match="failed while calling Python UDF 'odd'"):
        function(pa.array([1, 2]))
    quiet = "on_error='null'"
    text = text.format(raised=raised, options=f"({quiet})", more=f", {quiet}")
    assert batch_function(head + text)(pa.array([1, 2])).to_pylist() == [None, None]


def test_a_function_cannot_stop_the_loop_of_all():
    text = """@udf
async def odd(a: int) -> int:
    import asyncio
    async def ends():
        raise SystemExit
    asyncio.get_running_loop().stop()
    asyncio.create_task(ends()).add_done_callback(lambda task: task.exception())
    await asyncio.sleep(0.01)
    return a
"""
    assert batch_function(text)(pa.array([1, 2])).to_pylist() == [1, 2]


POINT = """
from dataclasses import dataclass, field
@dataclass{options}
class Point:
    x: int
    y: int = 0
    z: int = field(default=5, init=False)
    def __post_init__(self):
        if self.x == 7:
            raise ValueError("secret %d" % self.x)
"""
POINTS = [{"x": 1, "y": 2, "z": None}, {"x": 7, "y": 2, "z": None}]


@pytest.mark.parametrize("options", ["", "(kw_only=True)", "(slots=True)"])
def test_dataclasses_of_each_kind(options):
    text = POINT.format(options=options)
    there = "@udf\ndef far(p: Point) -> int:\n    return p.x + p.y + p.z\n"
    assert batch_function(text + there)(pa.array(POINTS[:1])).to_pylist() == [8]
    back = "@udf\ndef back(a: int) -> Point:\n    return Point(x=a)\n"
    given = batch_function(text + back)(pa.array([1]))
    assert given.to_pylist() == [{"x": 1, "y": 0, "z": 5}]


def test_what_a_dataclass_refuses_is_an_error_of_the_call():
    text = (
        POINT.format(options="") + "@udf{}\ndef far(p: Point) -> int:\n    return 1\n"
    )
    with pytest.raises(ArroyoError, match="UDF 'far': ValueError: secret 7"):
        batch_function(text.format(""))(pa.array(POINTS))
    with pytest.raises(ArroyoError) as told:
        batch_function(text.format("(redact=True)"))(pa.array(POINTS))
    assert "secret 7" not in str(told.value)
    assert "'x'" not in str(told.value)
    quiet = batch_function(text.format("(on_error='null')"))
    assert quiet(pa.array(POINTS)).to_pylist() == [1, None]


def test_a_call_that_cancels_itself_fails_and_the_rest_goes_on():
    text = """@udf{options}
async def odd(a: int) -> int:
    import asyncio
    if a == 2:
        for task in {tasks}:
            task.cancel()
    await asyncio.sleep(0)
    return a
"""
    own = "[asyncio.current_task()]"
    quiet = batch_function(text.format(options="(on_error='null')", tasks=own))
    assert quiet(pa.array([1, 2, 3])).to_pylist() == [1, None, 3]
    for tasks in (own, "asyncio.all_tasks()"):
        function = batch_function(text.format(options="", tasks=tasks))
        with pytest.raises(ArroyoError, match="UDF 'odd': CancelledError"):
            function(pa.array([1, 2, 3]))


def test_a_helper_with_a_cache_is_sent_to_workers():
    text = (
        "from functools import cache, lru_cache\n@lru_cache(maxsize=3)\n"
        "def twice(x):\n    return 2 * x\n@cache\ndef four(x):\n"
        "    return twice(x) * 2\n@udf\ndef f(a: int) -> int:\n    return four(a)\n"
    )
    assert batch_function(text)(pa.array([1, 1])).to_pylist() == [4, 4]


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("int", "['1']"),
        ("int", "[True]"),
        ("bool", "[1]"),
        ("str", "[1.5]"),
        ("datetime", "[1]"),
        ("date", "[datetime(2024, 1, 1)]"),
    ],
)
def test_a_batch_is_of_the_type_that_is_said(output, value):
    text = (
        f"@udf(input=[int], output={output})\ndef odd(a: pa.Array) -> pa.Array:\n"
        f"    return pa.array({value})\n"
    )
    with pytest.raises(ArroyoError, match=f" is no {output}"):
        batch_function(f"import pyarrow as pa\n{text}")(pa.array([1]))


def test_a_time_that_python_has_not_is_told():
    function = batch_function("@udf\ndef f(t: datetime) -> int:\n    return 1\n")
    late = pa.array([253402300800000000]).cast(pa.timestamp("us", "UTC"))
    with pytest.raises(ArroyoError, match="after the year 9999"):
        function(late)


@pytest.mark.parametrize(
    "end", ["del f", "f = 5", "def f(x):\n    return -1", "import sys\nsys.exit()"]
)
def test_a_name_that_means_another_thing_at_the_end(end):
    with pytest.raises(ArroyoError, match=r"no longer the function|SystemExit"):
        batch_function(f"@udf\ndef f(a: int) -> int:\n    return a\n{end}\n")


def test_what_helps_is_said():
    cases = [
        ("None", "write -> int | None where a result may be NULL"),
        ("later(a)", "write await before the call that gives it"),
    ]
    for value, helps in cases:
        # What an async function gives that is called without await.
        head = "from collections.abc import Coroutine\nclass later(Coroutine):\n"
        head += "    send = throw = __await__ = lambda self: None\n"
        head += "    def __init__(self, a): pass\n"
        text = f"{head}@udf\ndef f(a: int) -> int:\n    return {value}\n"
        with pytest.raises(ArroyoError) as told:
            batch_function(text)(pa.array([1]))
        assert helps in str(told.value)


@pytest.mark.parametrize(
    ("result", "value", "said"),
    [
        ("int", "Fraction(5, 2)", r"\(Fraction\) is no int"),
        ("int", "np.bool_(True)", r"is no int"),
        ("Sequence[str]", "'abc'", r"'abc' \(str\) is no list\[str\]"),
        ("str", "bytearray(b'a')", r"\(bytearray\) is no str"),
        ("int", "np.float32(1.7)", r"\(float32\) is no int"),
        ("Sequence[int]", "[np.float16(1.5)]", "a value of type float16 is given"),
        ("float", "True", r"True \(bool\) is no float"),
        ("Point", "{'x': 1}", "the field 'y' is missing"),
    ],
)
def test_nothing_is_taken_for_something_else(result, value, said):
    head = "import numpy as np\nfrom fractions import Fraction\n"
    head += "from collections.abc import Sequence\n"
    head += POINT.format(options="")
    text = f"{head}@udf\ndef odd(a: int) -> {result}:\n    return {value}\n"
    with pytest.raises(ArroyoError, match=said):
        batch_function(text)(pa.array([1]))


def test_batches_hold_what_their_types_say():
    head = "import pandas as pd\nimport pyarrow as pa\n"
    text = (
        "@udf(input=[int | None], output=int | None)\n"
        "def same(a: pd.Series) -> pd.Series:\n    return a\n"
    )
    big = [2**53 + 1, None]
    assert batch_function(head + text)(pa.array(big)).to_pylist() == big
    text = (
        "@udf(input=[int], output=float{})\n"
        "def odd(a: pa.Array) -> pa.Array:\n    return pa.array([{}])\n"
    )
    with pytest.raises(ArroyoError, match=r"it has NULLs: write output=T | None"):
        batch_function(head + text.format("", "None"))(pa.array([1]))
    with pytest.raises(ArroyoError) as told:
        batch_function(head + text.format(", redact=True", "'secret'"))(pa.array([1]))
    assert "secret" not in str(told.value)
    assert "a value is no float" in str(told.value)


def test_the_line_of_a_source_that_cannot_be_run():
    for text, line in (
        ("import json\njson.loads('x')\n", 7),
        ("import sys\n\nsys.exit(2)\n", 8),
    ):
        with pytest.raises(ArroyoError, match=f"at line {line} of its source"):
            batch_function(f"{text}@udf\ndef f(a: int) -> int:\n    return a\n")


@pytest.mark.parametrize(
    ("result", "value", "said"),
    [
        ("int", "'a'", "'a' (str) is no int"),
        ("datetime", "5.5", "5.5 (float) is no datetime"),
        ("date", "5", "5 (int) is no date"),
        ("timedelta", "True", "True (bool) is no timedelta"),
        ("Sequence[float]", "['a']", "['a'] (list) is no list[float]: "),
    ],
)
def test_a_result_of_another_type_is_told_in_the_words_of_its_author(
    result, value, said
):
    head = "from collections.abc import Sequence\n"
    text = f"{head}@udf\ndef odd(a: int) -> {result}:\n    return {value}\n"
    with pytest.raises(ArroyoError) as told:
        batch_function(text)(pa.array([1]))
    assert said in str(told.value)


def test_no_option_helps_against_a_name_that_is_not_there():
    with pytest.raises(ArroyoError) as told:
        batch_function("@udf\ndef odd(a: int) -> int:\n    return nobody\n")(
            pa.array([1])
        )
    assert "NameError" in str(told.value)
    assert "on_error" not in str(told.value)


def test_what_is_redacted_is_in_no_part_of_the_error():
    for body in ("return int(a)", "return a", "raise ValueError(a)"):
        function = batch_function(
            f"@udf(redact=True)\ndef odd(a: str) -> int:\n    {body}\n"
        )
        with pytest.raises(ArroyoError) as told:
            function(pa.array(["SSN-1"]))
        assert "SSN-1" not in str(told.value)


def test_nothing_is_cut_off_inside_of_a_list_or_a_struct():
    head = (
        "from collections.abc import Sequence\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    x: int\n@dataclass\nclass B(A):\n    a: A\n"
    )
    for type_, value in (
        ("Sequence[int]", "[5.7]"),
        ("A", "A(1.9)"),
        ("B", "B(1, A(2.5))"),
    ):
        text = f"{head}@udf\ndef odd(a: int) -> {type_}:\n    return {value}\n"
        with pytest.raises(ArroyoError, match="a value of type float is given"):
            batch_function(text)(pa.array([1]))
    text = f"from __future__ import annotations\n{head}"
    (udf,) = read_definitions(
        ScriptText(
            f"{text}from arroyo_nb import udf\n@udf\ndef f(b: B) -> int:\n"
            "    return b.x + b.a.x\n"
        ),
        "python",
    )
    given = pa.array([{"x": 1, "a": {"x": 2}}])
    assert udf.batch_call()(given).to_pylist() == [3]


def test_a_long_decimal_is_rounded():
    function = batch_function(
        "@udf\ndef long(a: int) -> Decimal:\n"
        "    return Decimal('12345678901234567.1234567890123456789')\n"
    )
    assert function(pa.array([1])).to_pylist() == [
        Decimal("12345678901234567.123456789012345679")
    ]
