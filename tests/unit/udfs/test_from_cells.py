"""The functions of a notebook's file: as those of a kernel that has run its cells."""

from __future__ import annotations

import json
import linecache
from types import ModuleType

import pytest

from arroyo_nb.cli.notebook_file import streaming_cells
from arroyo_nb.errors import ArroyoError
from arroyo_nb.udfs.python.from_cells import NotebookNames
from arroyo_nb.udfs.python.from_object import udf_of
from arroyo_nb.udfs.registry import without_definitions

CELLS = [
    """
import math
import pyarrow.compute as pc
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal as Money
SCALE, other = 2.5, 3
FACTOR = 2.5
""",
    """
def halved(x):
    return x / 2

def helper(x):  # explains itself
    return halved(x) * FACTOR + math.floor(x)
""",
    """
from arroyo_nb import udf

@udf
def scaled(x: int, at: datetime) -> float:
    return helper(x) + at.year

@udf(volatile=True)
def cost(x: Money) -> Money:
    return x * 2
""",
]


def test_the_text_is_that_of_a_kernel():
    names, module = NotebookNames(), ModuleType("__main__")
    found = []
    for number, cell in enumerate(CELLS):
        name = f"<cell of a file {number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        with without_definitions("__main__"):
            exec(compile(cell, name, "exec"), module.__dict__)
        found += names.read(cell, "nb cell")
    assert [udf.name for udf in found] == ["scaled", "cost"]
    assert found[0].text == udf_of(module.scaled).text
    assert found[1].text == udf_of(module.cost).text
    assert found[1].options.volatile


def test_what_only_a_kernel_knows():
    names = NotebookNames()
    names.read("import os\nmodel = os.getpid()\na = b = 1\n", "nb cell 1")
    cell = "from arroyo_nb import udf\n@udf\ndef f(x: int) -> int:\n    return x + {}\n"
    (udf,) = names.read(cell.format("model"), "nb cell 2")
    assert udf.not_portable == "it uses 'model', whose value only a kernel knows"
    (udf,) = names.read(cell.format("os.getpid()"), "nb cell 3")
    assert udf.not_portable == ""
    assert names.read("not python at all", "nb cell 4") == ()
    with pytest.raises(ArroyoError, match="nb cell 5:3:7: Could not get name of type"):
        names.read(cell.format("1").replace("x: int", "x"), "nb cell 5")


@pytest.mark.parametrize(
    ("cell", "used", "why"),
    [
        ("class L:\n    top = 3\nL.top = 5", "L.top", "which a cell changes"),
        ("D = {'a': 1}\nD['b'] = 2", "len(D)", "which a cell changes"),
        ("M = [1]\nif M:\n    M.append(2)", "len(M)", "which a cell changes"),
        ("def hd(x): return hd.by\nhd.by = 2", "hd(x)", "which a cell changes"),
        ("N = 3\ndef hd(x, n=N): return n", "hd(x)", "whose defaults are computed"),
    ],
)
def test_what_cells_change(cell, used, why):
    names = NotebookNames()
    names.read(f"import math\n{cell}\nmath.sqrt(2)", "nb cell 1")
    head = "from arroyo_nb import udf\n@udf\ndef f(x: int) -> float:\n    return "
    (udf,) = names.read(head + used, "nb cell 2")
    assert udf.not_portable.endswith(f", {why}")
    (udf,) = names.read(head + "math.sqrt(x)", "nb cell 3")
    assert udf.not_portable == ""


def notebook(path, *cells):
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": text}
        for n, text in enumerate(cells)
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_cells_call_what_cells_before_define(tmp_path):
    table = "CREATE TABLE i WITH (connector = 'impulse', event_rate = '1')"
    twice = "def twice(x: int) -> int:\n    return 2 * x"
    path = notebook(
        tmp_path / "nb.ipynb",
        f"%load_ext arroyo_nb\nfrom arroyo_nb import udf\n@udf\n{twice}",
        f"%%arroyo_udf\nfrom arroyo_udf import udf\n@udf\n{twice}".replace("tw", "thr"),
        f"%%arroyo\n{table};",
        "%%arroyo both <<\nSELECT twice(counter) + thrice(counter) AS y FROM i;",
        "%%arroyo_udf\nx = 1",
    )
    cells = streaming_cells(path)
    errors = [str(cell.error) for cell in cells if cell.error is not None]
    assert len(errors) == 1
    assert "does not contain a UDF" in errors[0]
    assert "both" in [cell.name for cell in cells if cell.plan is not None]
