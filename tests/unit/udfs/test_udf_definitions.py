"""Signatures read from Python source: every type, every mistake with its place."""

from __future__ import annotations

import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs.definition import Kind
from arroyo_nb.udfs.languages import read_definitions

HEAD = """
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import List, Optional, Union
import pandas as pd
import pyarrow as pa
from arroyo_nb import udaf, udf

Price = Decimal

@dataclass
class Point:
    x: float
    y: float | None
    tags: list[str]
"""


def read(text, head=HEAD):
    return read_definitions(ScriptText(head + text), "python")


def one(text):
    (udf,) = read(text)
    return udf


@pytest.mark.parametrize(
    ("annotation", "type_", "optional"),
    [
        ("int", "BIGINT", False),
        ("float", "DOUBLE", False),
        ("str", "TEXT", False),
        ("bool", "BOOLEAN", False),
        ("bytes", "BYTEA", False),
        ("datetime", "TIMESTAMP", False),
        ("dt.datetime", "TIMESTAMP", False),
        ("date", "DATE", False),
        ("timedelta", "INTERVAL", False),
        ("Decimal", "DECIMAL(38, 18)", False),
        ("Price", "DECIMAL(38, 18)", False),
        ("int | None", "BIGINT", True),
        ("None | int", "BIGINT", True),
        ("Optional[str]", "TEXT", True),
        ("Union[str, None]", "TEXT", True),
        ("'int'", "BIGINT", False),
        ("'Optional[float]'", "DOUBLE", True),
        ("Sequence[int]", "BIGINT[]", False),
        ("Sequence[Point] | None", None, True),
        ("Point", "STRUCT<x DOUBLE, y DOUBLE, tags TEXT[]>", False),
    ],
)
def test_an_annotation_is_a_type(annotation, type_, optional):
    udf = one(f"@udf\ndef f(a: {annotation}, b: int) -> {annotation}:\n    return a\n")
    parameter = udf.parameters[0]
    assert parameter.optional is udf.optional is optional
    assert parameter.type == udf.result
    if type_ is not None:
        assert str(udf.result) == type_


@pytest.mark.parametrize(
    ("annotation", "type_", "optional"),
    [
        ("list[int]", "BIGINT", False),
        ("list[int | None]", "BIGINT", True),
        ("List[str]", "TEXT", False),
        ("list[list[int]]", "BIGINT[]", False),
    ],
)
def test_lists_make_an_aggregate(annotation, type_, optional):
    udf = one(f"@udf\ndef f(a: {annotation}) -> float:\n    return 1.0\n")
    assert udf.kind is Kind.VALUES
    assert str(udf.parameters[0].type) == type_
    assert udf.parameters[0].optional is optional


def test_what_else_is_said():
    udf = one(
        '@udf(on_error="null", redact=True, timeout="250ms", ordered=True,\n'
        "     allowed_in_flight=7)\n"
        "async def Ask(name: str) -> str:\n"
        '    """The answer.\n\n    And more.\n    """\n'
    )
    assert (udf.name, udf.kind, udf.doc) == ("ask", Kind.ASYNC, "The answer.")
    options = udf.options
    assert (options.on_error, options.redact, options.ordered) == ("null", True, True)
    assert options.allowed_in_flight == 7
    assert options.timeout.total_seconds() == 0.25
    assert udf.signature == "ask(name TEXT) -> TEXT"


def test_whole_batches():
    udf = one(
        "@udf(input=[int, Optional[float]], output=str)\n"
        "def f(a: pa.Array, b: pd.Series) -> pa.Array:\n    return a\n"
    )
    assert udf.kind is Kind.BATCHES
    assert [p.optional for p in udf.parameters] == [False, True]
    assert udf.signature == "f(a BIGINT, b DOUBLE) -> TEXT"


def test_a_class_is_an_aggregate():
    udf = one(
        "@udaf\nclass Total:\n    def __init__(self): self.n = 0\n"
        "    def accumulate(self, x: int, w: float | None): self.n += x\n"
        "    def retract(self, x: int, w: float | None): self.n -= x\n"
        "    def merge(self, other): self.n += other.n\n"
        "    def finish(self) -> int: return self.n\n"
    )
    assert udf.kind is Kind.ACCUMULATOR
    assert udf.signature == "total(x BIGINT, w DOUBLE) -> BIGINT"


@pytest.mark.parametrize("decorator", ["udf", "arroyo_udf.udf", "u", "u()"])
def test_a_decorator_is_known_by_its_import(decorator):
    head = "import arroyo_udf\nfrom arroyo_udf import udf as u\n"
    (udf,) = read(f"@{decorator}\ndef f(a: int) -> int:\n    return a\n", head)
    assert udf.arroyo_refusal == ""


MISTAKES = [
    ("def f(a: int) -> int: ...", "does not contain a UDF", None),
    ("@udf\ndef f(a) -> int: ...", "Could not get name of type for argument a", "a"),
    (
        "@udf\ndef f(a: 's None') -> int: ...",
        "Unsupported Python type: 's None'",
        "'s None'",
    ),
    ("@udf\ndef f(a: '\\0') -> int: ...", "Unsupported Python type", "'\\0'"),
    ("@udf\ndef f(a: 3) -> int: ...", "Unsupported Python type: 3", "3"),
    ("@udf\ndef f(a: set) -> int: ...", "Unsupported Python type: set", "set"),
    ("@udf\ndef f(a: list) -> int: ...", "Unsupported Python type: list", "list"),
    ("@udf\ndef f(a: int | str) -> int: ...", "Unsupported Python type", "int | str"),
    ("@udf\ndef f(a: Nobody) -> int: ...", "Unsupported Python type: Nobody", "Nobody"),
    ("@udf\ndef f(a: int): ...", "No return type defined for function f", "def f"),
    ("@udf\ndef f() -> int: ...", "takes no argument", "def f"),
    ("@udf\ndef f(*a: int) -> int: ...", "plain arguments only", "def f"),
    ("@udf\ndef f(a: list[int], b: int) -> int: ...", "must be lists", "def f"),
    ("@udf\nasync def f(a: list[int]) -> int: ...", "cannot be an aggregate", "async"),
    ("@udf\ndef upper(a: int) -> int: ...", "a function of the dialect", "def upper"),
    ("@udf\ndef select(a: int) -> int: ...", "a word of SQL", "def select"),
    ("@udf\ndef Sum(a: int) -> int: ...", "a function of the dialect", "def Sum"),
    ("@udf(5)\ndef f(a: int) -> int: ...", "options by name only", "def f"),
    ("@udf(tiemout='5s')\ndef f(a: int) -> int: ...", "attribute 'tiemout'", "'5s'"),
    ("@udf(timeout='5')\nasync def f(a: int) -> int: ...", "invalid duration", "'5'"),
    (
        "@udf(timeout='5 d')\nasync def f(a: int) -> int: ...",
        "unknown time unit 'd'",
        "'5 d'",
    ),
    ("@udf(timeout=X)\nasync def f(a: int) -> int: ...", "must be a literal", "X"),
    ("@udf(timeout='5s')\ndef f(a: int) -> int: ...", "for async functions", "'5s'"),
    ("@udaf(ordered=True)\nclass F: ...", "for async functions", "True"),
    ("@udaf(volatile=True)\nclass F: ...", "for functions, and not", "True"),
    ("@udf(on_error='skip')\ndef f(a: int) -> int: ...", "neither 'fail'", "'skip'"),
    ("@udf(redact=1)\ndef f(a: int) -> int: ...", "neither True nor False", "1"),
    ("@udf(allowed_in_flight=0)\nasync def f(a: int) -> int: ...", "1 or more", "0"),
    ("@udf(input=[int])\ndef f(a: int) -> int: ...", "functions of whole", "[int]"),
    ("@udf\ndef f(a: pa.Array) -> pa.Array: ...", "says the types", "def f"),
    (
        "@udf(input=[int, int], output=int)\ndef f(a: pa.Array) -> pa.Array: ...",
        "input has 2 types, and f 1 arguments",
        "[int, int]",
    ),
    ("@udaf\ndef f(a: int) -> int: ...", "@udaf is for a class", "def f"),
    ("@udf\nclass F: ...", "@udf is for a function", "class F"),
    ("@udaf\nclass F:\n    def finish(self): ...", "no method accumulate()", "class F"),
    (
        "@udf\ndef f(a: int) -> int: ...\n@udf\ndef F(a: int) -> int: ...",
        "the function f is defined twice, as f and F: SQL knows no case",
        "def F",
    ),
    ("@udaf(on_error='null')\nclass F: ...", "has half a row", "'null'"),
    ("@udf\ndef f(a: int) -> int:\n    yield a", "is a generator", "yield a"),
    ("@udf\ndef f(a: int) -> int:\n    return await a", "'await' outside", "await"),
    ("@udf(redact=True, redact=False)\ndef f(a: int) -> int: ...", "repeated", "re"),
    ("def f(:", "invalid syntax", ":"),
]


@pytest.mark.parametrize(("text", "said", "place"), MISTAKES)
def test_a_mistake_is_told_with_its_place(text, said, place):
    with pytest.raises(ArroyoError) as caught:
        read(f"# \N{GRINNING FACE} é\n{text}\n")
    (problem,) = caught.value.problems
    assert said in problem.message
    if place is None:
        return
    assert problem.span is not None
    whole = problem.source.text
    assert whole[problem.span.start :].startswith(place)


def test_an_import_that_is_missing_is_named():
    with pytest.raises(ArroyoError, match="from typing import Optional"):
        read(
            "@udf\ndef f(a: Optional[int]) -> int: ...\n",
            "from arroyo_nb import udf\n",
        )


def test_a_decorator_takes_no_name():
    from arroyo_nb import udf

    with pytest.raises(ArroyoError, match="takes options by name: 'ratio'"):
        udf("ratio")


def test_a_result_of_batches_is_written_as_its_arguments():
    head = "import pyarrow as pa\n@udf(input=[int], output=int)\n"
    with pytest.raises(ArroyoError, match=r"-> pa\.Array"):
        read(f"{head}def f(a: pa.Array): ...\n")


def test_all_mistakes_are_told_at_once():
    with pytest.raises(ArroyoError) as caught:
        read("@udf\ndef f(a) -> int: ...\n@udf\ndef g(a: int): ...\n")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@udf\ndef f(a: list[int]) -> int: ...", "lists are not yet supported"),
        ("@udf\ndef f(a: datetime) -> int: ...", "Unsupported Python type: TIMESTAMP"),
        ("@udf\ndef f(a: int) -> int: ...", ""),
    ],
)
def test_what_arroyo_would_say(text, said):
    assert one(text).arroyo_refusal == said
