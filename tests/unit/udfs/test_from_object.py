"""The source of a function and of what it needs: it runs where no notebook is."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import time
from types import ModuleType

import pyarrow as pa
import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.udfs import registry, udf
from arroyo_nb.udfs.python.from_object import udf_of
from arroyo_nb.udfs.python.loading import load, run_source
from arroyo_nb.udfs.registry import without_definitions

CELLS = [
    """
import math
from datetime import datetime as moment
from decimal import Decimal
from dataclasses import dataclass
SCALE = 2.5
NAMES = {"a": [1, 2], "b": (3.0, None)}
""",
    """
def halved(x):
    return x / 2 if x < 100 else halved(x / 2)

def helper(x):
    return halved(x) * SCALE + math.floor(x)

@dataclass
class Point:
    x: float
    y: float
""",
    """
from arroyo_nb import udf, udaf

@udf
def scaled(x: int, at: "moment") -> float:
    # of the year
    return helper(x) + at.year + len(NAMES)

@udf
def size(p: Point) -> float:
    return math.hypot(p.x, p.y)

@udaf
class Total:
    def __init__(self):
        self.n = 0
    def accumulate(self, x: int):
        self.n += round(helper(x))
    def retract(self, x: int):
        self.n -= round(helper(x))
    def merge(self, other):
        self.n += other.n
    def finish(self) -> int:
        return self.n
""",
]


@pytest.fixture
def notebook():
    """A namespace like that of a kernel, whose cells Python knows the source of."""
    module = ModuleType("__main__")
    for number, cell in enumerate(CELLS):
        run_cell(module, cell, f"<cell {number}>")
    return module


def run_cell(module, text, name):
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    with without_definitions("__main__"):
        exec(compile(text, name, "exec"), module.__dict__)


def test_it_has_all_that_it_needs_and_no_more(notebook):
    text = udf_of(notebook.scaled).text
    run = run_source(text)
    assert run["scaled"](8, run["moment"](2024, 1, 1)) == 8 / 2 * 2.5 + 8 + 2024 + 2
    assert "# of the year" in text
    assert "Decimal" not in text
    assert "Point" not in text


def test_a_dataclass_comes_with_it(notebook):
    made = udf_of(notebook.size)
    array = pa.array([{"x": 3.0, "y": 4.0}])
    assert made.batch_call()(array).to_pylist() == [5.0]
    # And where its text alone is known.
    assert load(made)(array).to_pylist() == [5.0]


def test_a_class_of_a_cell_has_its_source(notebook):
    made = udf_of(notebook.Total)
    assert made.text.rstrip().endswith("return self.n")
    calls = load(made)
    states = calls.accumulated([pa.array([2, 4, 4])], [0, 0, 1], [1, 1, -1])
    assert calls.finished([states[0], None]).to_pylist() == [4 + 9, 0]
    assert calls.finished([calls.merged([*states.values()])]).to_pylist() == [4]


def test_the_same_text_is_the_same_definition(notebook):
    assert udf_of(notebook.scaled).sha256 == udf_of(notebook.scaled).sha256
    notebook.SCALE = 3.0
    assert "SCALE = 3.0" in udf_of(notebook.scaled).text


def test_what_cannot_leave_the_notebook_is_named(notebook):
    notebook.model = object()
    run_cell(
        notebook,
        "@udf\ndef guess(x: int) -> int:\n    return hash(model)\n",
        "<cell 9>",
    )
    assert (
        udf_of(notebook.guess).not_portable == "it uses 'model', a value of type object"
    )


def test_without_source_there_is_no_function():
    scope = {}
    exec("def f(a: int) -> int:\n    return a\n", scope)
    with pytest.raises(ArroyoError, match="the source of 'f' cannot be read"):
        udf_of(scope["f"])


def test_a_decorated_function_is_known_and_stays_itself():
    heard = []
    end = registry.listen(lambda udf, before: heard.append((udf.name, before)))
    try:

        @udf
        def doubled_here(x: int) -> int:
            return 2 * x

        assert doubled_here(3) == 6
        made = registry.udfs()["doubled_here"]
        assert made.signature == "doubled_here(x BIGINT) -> BIGINT"
        assert heard == [("doubled_here", None)]
    finally:
        end()
        registry.forget("doubled_here")


SOURCES = {
    "a module in a package": (
        "import xml.dom.minidom",
        "def f(x: int) -> int:\n    return len(xml.dom.minidom.__name__) + x\n",
        17,
    ),
    "a name of Python's that is the notebook's": (
        "def round(x):\n    return 7",
        "def f(x: int) -> int:\n    return round(x)\n",
        7,
    ),
    "a tab in a text": ("", "def f(x: int) -> int:\n    return len('a\tb')\n", 3),
    "locals that are named as globals": (
        "i = object()\ndf = object()\nmodel = object()",
        "def f(df: int) -> int:\n    model = df\n"
        "    return sum(i for i in range(model)) + ('model' == 'i')\n",
        1,
    ),
    "a set": (
        "WORDS = {'b', 'a'}",
        "def f(x: int) -> int:\n    return len(WORDS)\n",
        2,
    ),
    "a plain class": (
        "class Box:\n    def __init__(self, x):\n        self.x = x",
        "def f(x: int) -> int:\n    return Box(x).x\n",
        2,
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_the_text_means_what_the_notebook_means(case):
    before, function, expected = SOURCES[case]
    module = ModuleType("__main__")
    run_cell(module, before, f"<before {case}>")
    run_cell(module, function, f"<function {case}>")
    made = udf_of(module.f)
    assert made.not_portable == ""
    assert load(made)(pa.array([2])).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("before", "body", "what"),
    [
        ("", "return later(x)", "it uses 'later', which is not defined above it"),
        ("TOP = float('inf')", "return TOP", "it uses 'TOP', a value of type float"),
        (
            "from collections import defaultdict\nD = defaultdict(int)",
            "return D[x]",
            "it uses 'D', a value of type defaultdict",
        ),
        (
            "LONG = list(range(30_000))",
            "return LONG[x]",
            "it uses 'LONG', a value of more than 100,000 characters",
        ),
    ],
)
def test_what_no_text_says(before, body, what):
    module = ModuleType("__main__")
    run_cell(module, before, f"<before {body}>")
    run_cell(module, f"def f(x: int) -> int:\n    {body}\n", f"<function {body}>")
    first, second = udf_of(module.f), udf_of(module.f)
    assert first.not_portable == what
    # Its text does not say what it is: Spark is not to take one for the other.
    assert first.spark_name != second.spark_name


def test_a_set_is_written_in_one_order():
    run = """
import linecache
from arroyo_nb.udfs.python.from_object import udf_of
text = 'W = {"b", "a", "c"}\\ndef f(x: int) -> int:\\n    return len(W)\\n'
linecache.cache["<c>"] = (len(text), None, text.splitlines(True), "<c>")
exec(compile(text, "<c>", "exec"))
print(udf_of(f).sha256)
"""
    hashes = {
        subprocess.run(
            [sys.executable, "-c", run],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(hashes) == 1


def test_a_helper_that_keeps_its_results_is_written_with_its_decorator():
    cell = (
        "import functools\ndef logged(g):\n    @functools.wraps(g)\n"
        "    def w(*a): return g(*a)\n    return w\n"
        "@functools.lru_cache\ndef twice(x): return 2 * x\n"
        "@logged\ndef four(x): return 2 * twice(x)\n"
        "def f(x: int) -> int:\n    return four(x)\n"
    )
    module = ModuleType("__main__")
    run_cell(module, cell, "<helpers with decorators>")
    made = udf_of(module.f)
    assert made.not_portable == ""
    assert made.batch_call()(pa.array([1])).to_pylist() == [4]
    # What wraps one later is none of its source.
    run_cell(module, "twice = logged(twice)\ndef f(x: int) -> int: return four(x)",
             "<wrapped later>")  # fmt: skip
    run_cell(module, "def plain(x): return x\nplain = logged(plain)\n"
             "def g(x: int) -> int: return plain(x)", "<plain one>")  # fmt: skip
    assert (
        udf_of(module.g).not_portable
        == "it uses 'plain', a function that another one made"
    )


def test_a_class_has_the_source_of_the_cell_that_was_run_last():
    module = ModuleType("__main__")
    cells = [f"class Cfg:\n    rate = {rate}\n" for rate in (1, 2)]
    for number in (0, 1, 0):  # the first one again, under its old name
        run_cell(module, cells[number], f"<rate {number}>")
    run_cell(module, "def f(x: int) -> int:\n    return Cfg.rate\n", "<f of rate>")
    made = udf_of(module.f)
    assert made.not_portable == ""
    assert made.batch_call()(pa.array([1])).to_pylist() == [1]


def test_a_long_value_takes_no_time():
    module = ModuleType("__main__")
    run_cell(module, "def f(x: int) -> int:\n    return len(LONG)\n", "<f of LONG>")
    module.LONG = list(range(3_000_000))
    started = time.monotonic()
    assert udf_of(module.f).not_portable
    assert time.monotonic() - started < 1


def test_a_class_that_is_as_it_was_defined_is_written():
    cell = (
        "from dataclasses import dataclass, field\nfrom enum import Enum\nCOUNT = 7\n"
        "@dataclass(frozen=True)\nclass Box:\n    x: int = 4\n"
        "    y: list = field(default_factory=list)\n    Z = 3\n"
        "    @property\n    def area(self): return self.x * self.Z\n"
        "class Color(Enum):\n    RED = 1\n"
        "class Plain:\n    '''What it is.'''\n    __slots__ = ('t',)\n"
        "    names = {'a': 1}\n    three = 3\n    top = COUNT\n"
        "    @staticmethod\n    def s(x): return x\n"
        "    def m(self): self.t = 5; return 6\n"
        "def f(a: int) -> int:\n"
        "    return a + Box().area + Color.RED.value + Plain().m() + Plain.three\n"
    )
    module = ModuleType("__main__")
    run_cell(module, cell, "<classes as defined>")
    made = udf_of(module.f)
    assert made.not_portable == ""
    assert made.batch_call()(pa.array([1])).to_pylist() == [module.f(1)]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda x: x, "a lambda cannot be a UDF: it has no name and no types"),
        (3, "a function or a class is needed: this is an int"),
        (len, "a function or a class is needed: this is a builtin_function"),
    ],
)
def test_what_is_no_definition(made, said):
    with pytest.raises(ArroyoError, match=said):
        udf_of(made)


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (
            "n = 100\ndef make(n):\n    def addn(x): return x + n\n    return addn\n"
            "addn = make(5)\ndef f(x: int) -> int:\n    return addn(x)\n",
            "it uses 'addn', a function that another one made",
        ),
        (
            "c = 5\ndef helper(): return c\ndef mk(c):\n"
            "    def f(x: int) -> int:\n        return helper() * 100 + c\n"
            "    return f\nf = mk(1)\n",
            "it uses 'c', which means another thing in its module",
        ),
        (
            "K = 1\ndef hd(x, k=K): return x + k\nK = 2\n"
            "def f(x: int) -> int:\n    return hd(x)\n",
            "it uses 'hd', whose defaults are computed",
        ),
        (
            "class Limits:\n    top = 3\n    def up(self): return self.top\n"
            "Limits.top = 5\n"
            "def f(x: int) -> int:\n    return min(x, Limits().up())\n",
            "it uses 'Limits', which may have changed since its definition",
        ),
        (
            "class Seen:\n    pass\nSeen.count = 0\n"
            "def f(x: int) -> int:\n    return Seen.count + x\n",
            "it uses 'Seen', which may have changed since its definition",
        ),
        *(
            (
                f"class L:\n    top: int = 3\n    names = []\n    by = {{'a': 1}}\n"
                f"    low = len('abc')\n    def up(self):\n        q = 1\n"
                f"        return 3\n"
                f"{change}\ndef f(x: int) -> int:\n    return {used}\n",
                "it uses 'L', which may have changed since its definition",
            )
            for change, used in (
                ("L.top = 5", "L.top"),
                ("L.names.append(7)", "len(L.names)"),
                ("L.by['b'] = 2", "len(L.by)"),
                ("L.up = lambda self: 9", "L().up()"),
                ("def up(self): return 8\nL.up = up", "L().up()"),
                ("L.q = 4", "L.q"),
                ("", "L.low"),
            )
        ),
        (
            "class Rate:\n    per = 1\nRate.per = 2\n"
            "def f(x: int) -> int:\n    return Rate.per\n",
            "it uses 'Rate', which may have changed since its definition",
        ),
        (
            "import sys\nclass Made:\n    _name = 'path'\n    __module__ = 'sys'\n"
            "    n = 3\nS = Made()\ndef f(x: int) -> int:\n    return S.n\n",
            "it uses 'S', a value of type Made",
        ),
        (
            "import functools, statistics\ndef doubled(f):\n"
            "    @functools.wraps(f)\n    def inner(*a): return 2 * f(*a)\n"
            "    return inner\nmean = doubled(statistics.mean)\n"
            "def f(x: int) -> float:\n    return mean([x])\n",
            "it uses 'mean', which cannot be imported",
        ),
        (
            "def g(a, b=1): return a + b\ng.__defaults__ = (5,)\n"
            "def f(x: int) -> int:\n    return g(x)\n",
            "it uses 'g', which may have changed since its definition",
        ),
        (
            "from abc import ABC\nclass Abc(ABC):\n    rate = 1\nAbc.rate = 5\n"
            "def f(x: int) -> int:\n    return Abc.rate\n",
            "it uses 'Abc', which may have changed since its definition",
        ),
        (
            "class Priv:\n    pass\nPriv._n = 2\n"
            "def f(x: int) -> int:\n    return Priv._n\n",
            "it uses 'Priv', which may have changed since its definition",
        ),
        (
            "def step(x): return x + step.by\nstep.by = 2\n"
            "def f(x: int) -> int:\n    return step(x)\n",
            "it uses 'step', which may have changed since its definition",
        ),
    ],
)
def test_what_a_text_would_say_otherwise_is_called_as_it_is(cell, what):
    module = ModuleType("__main__")
    run_cell(module, cell, f"<{what}>")
    made = udf_of(module.f)
    assert made.not_portable == what
    called = made.batch_call()(pa.array([1])).to_pylist()
    assert called == [module.f(1)]
    # Nobody can say whether a state is of the same function.
    assert udf_of(module.f).version != made.version
