"""Tests in cells, of a table of clicks; and how a notebook of cells is run by a program
beside Jupyter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
HOSTILE = "<img src=x onerror=alert(1)>"
TABLES = """%%arroyo
CREATE TABLE clicks (
    at TIMESTAMP NOT NULL, user TEXT, WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (connector = 'kafka', bootstrap_servers = 'localhost:9', topic = 'clicks',
        type = 'source', format = 'json');
CREATE VIEW named AS SELECT user, at FROM clicks WHERE user IS NOT NULL"""
TEST = f"""%%arroyo_test windows
GIVEN clicks
at       | user
10:00:00 | ann
10:00:20 | {HOSTILE}
09:59:30 | ann

WHEN
SELECT tumble(INTERVAL '10 seconds') AS w, max(user) AS u, count(*) AS n
FROM named WHERE user <> :nobody GROUP BY w

EXPECT TABLE
w.start  | u         | n
10:00:00 | ann       | 1
10:00:20 | {HOSTILE} | 1

EXPECT LATE
at
09:59:30
"""
WRONG = TEST.replace(f"{HOSTILE} | 1", f"{HOSTILE} | 2")


def notebook(path: Path, *cells: str) -> Path:
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(made, path)
    return path


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
