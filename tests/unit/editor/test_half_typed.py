"""Cells while they are typed: whatever stands there, no question ends with a bug."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.editor.result_schema import result_schema
from arroyo_nb.plan.planner import plan_script

GOLDEN = Path(__file__).parents[2] / "golden"
ERROR = "\n-- error\n"
TEST = (
    "%%arroyo_test late --timeout 5s\nGIVEN trips --watermark '10 seconds'\nid | at | "
    "name\n1 | 10:00:00 | ann\n\nWHEN\nSELECT id, name FROM trips WHERE id > :n\n\n"
    "EXPECT TABLE ORDERED\nid | name\n1 | ann\n\nEXPECT WATERMARK 10:00:00\n"
)
ROWS = (
    "%%arroyo_rows clicks --watermark '10 seconds' --shuffle 5s\nat TIMESTAMP NOT NULL "
    '| "my name" TEXT | n DECIMAL(4, 2)\n10:00:00 | "a | b" | 1.5\n\n10:00:02 | | 2\n'
)
UDF = (
    "%%arroyo_udf python\nfrom arroyo_nb import udf\n\n@udf(volatile=True)\n"
    'def f(x: int, y: "str | None") -> list[float]:\n    """Doc."""\n    return [x]\n'
)


def cells() -> list[str]:
    chosen = random.Random(3).sample(sorted((GOLDEN / "errors").glob("*.sql")), 30)
    scripts = [path.read_text("utf-8").split(ERROR)[0] for path in chosen]
    sql = [f"%%arroyo q << --rows 5 --for 30s\n{script}" for script in scripts]
    return [*sql, TEST, ROWS, UDF]


def test_no_prefix_and_no_slip_is_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    tables = plan_script((GOLDEN / "tables.sql").read_text("utf-8"), Catalog()).catalog
    context = EditorContext(tables, variables={"n": 3})
    chance = random.Random(7)
    with caplog.at_level(logging.ERROR):
        for whole in cells():
            for _ in range(12):
                text = whole[: chance.randrange(9, len(whole))]
                if chance.random() < 0.5:
                    at = chance.randrange(9, len(text) + 1)
                    text = text[:at] + chance.choice("()'\"`;:,.<😀\n\t\\{") + text[at:]
                cell = read_cell(text)
                if cell is None:
                    continue
                for found in diagnose(cell, context):
                    assert 0 <= found.start < found.end <= len(text), (text, found)
                    for fix in found.fixes:
                        edits = sorted(fix.edits, key=lambda edit: edit.start)
                        places = [p for e in edits for p in (e.start, e.end)]
                        assert places == sorted(places), (text, fix)
                        assert places[-1] <= len(text), (text, fix)
                result_schema(cell, context)
    assert caplog.text == ""


def test_no_question_loads_spark() -> None:
    script = (
        "import sys\n"
        "from arroyo_nb.catalog import Catalog\n"
        "from arroyo_nb.editor.answers import EditorContext\n"
        "from arroyo_nb.editor.cell_text import read_cell\n"
        "from arroyo_nb.editor.diagnostics import diagnose\n"
        f"for text in {[TEST, ROWS, UDF, '%%arroyo' + chr(10) + 'SELECT 1']!r}:\n"
        "    diagnose(read_cell(text), EditorContext(Catalog()))\n"
        "assert not {'pyspark', 'ipywidgets', 'py4j'} & {*sys.modules}, 'loaded'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
