"""The examples of ``docs/how-to/write-a-plug-in.md``, in a copy of the package: each is
one file, or one row, and everything else knows it. No JVM."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "write-a-plug-in.md"
BLOCK = re.compile(
    r"```python\n# (?:in (?P<table>\w+) of )?(?P<path>\S+)\n(?P<text>.*?)```", re.DOTALL
)

Program = Callable[..., str]


def with_row(module: str, table: str, block: str) -> str:
    """A module with a row more in a table: the last expression of the block, whose
    other lines stand above the table."""
    lines = block.splitlines(keepends=True)
    first = ast.parse(block).body[-1].lineno - 1
    above, row = "".join(lines[:first]), "".join(lines[first:])
    head = f"\n{table} = (\n"
    assert module.count(head) == 1
    return module.replace(head, f"\n{above}{head}{row.rstrip()},\n")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Runs Python over a copy of the package that has the plug-ins of the page."""
    home = tmp_path_factory.mktemp("clone")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "arroyo_nb", home / "arroyo_nb", ignore=ignored)
    for block in BLOCK.finditer(PAGE.read_text("utf-8")):
        file, text = home / block["path"], block["text"]
        assert file.exists() == (block["table"] is not None)
        if block["table"] is not None:
            text = with_row(file.read_text("utf-8"), block["table"], text)
        file.write_text(text, encoding="utf-8")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_every_kind_has_an_example() -> None:
    found = {
        block["table"] or block["path"] for block in BLOCK.finditer(PAGE.read_text())
    }
    assert found == {
        *("arroyo_nb/connectors/primes.py", "arroyo_nb/connectors/logfmt.py"),
        *("arroyo_nb/formats/text_lines.py", "FUNCTIONS", "AGGREGATES"),
        *("arroyo_nb/plan/rewrites/true_filters.py", "PASSES"),
        *("arroyo_nb/views/sections/rates.py", "arroyo_nb/jobs/targets/systemd.py"),
    }


def test_the_tests_of_all_plug_ins_hold(python: Program) -> None:
    files = (
        *("test_plug_ins.py", "formats/test_declarations.py", "views/test_sections.py"),
        *("connectors/test_connectors.py", "connectors/test_arroyo_only.py"),
        *("functions/test_functions.py", "plan/test_passes.py"),
    )
    tests = (str(ROOT / "tests" / "unit" / file) for file in files)
    python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_they_are_planned_and_explained(python: Program) -> None:
    program = """
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PlanProblem
from arroyo_nb.plan.planner import plan_script

plan = plan_script('''
CREATE TABLE p WITH (connector = 'primes', below = 100);
CREATE TABLE log (prime BIGINT, code TEXT, noise DOUBLE)
WITH (connector = 'logfmt', path = '/tmp/log');
CREATE TABLE words (word TEXT) WITH (connector = 'single_file', type = 'sink',
path = '/tmp/words', format = 'text_lines');
SHOW TABLES;
INSERT INTO log SELECT prime, soundex('prime'), random_normal() FROM p WHERE TRUE;
INSERT INTO words SELECT CAST(root_mean_square(prime) AS TEXT) FROM p
GROUP BY tumble(INTERVAL '1 hour')
''', Catalog())
print(*plan.answers, plan.explain(), sep='\\n')
try:
    plan_script("SELECT random_normal() FROM (SELECT count(*) FROM p)", plan.catalog)
except PlanProblem as problem:
    print(problem.message)
"""
    said = python("-c", program)
    for words in (
        "p      primes source     prime BIGINT NOT NULL",
        "log    logfmt sink",
        "Plan after true_filters: a filter that lets every row through is none",
        "soundex('prime')",
        "root_mean_square(",
        "random_normal() over updating rows is not supported: it gives another number",
    ):
        assert words in said


def test_what_is_written_by_hand_elsewhere_is_known(python: Program) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs")!r})
from reference_pages import PAGES

from arroyo_nb.editor import completion
from arroyo_nb.editor.table_options import choices_of
from arroyo_nb.jobs.targets import TARGETS

for page, words in {{
    "connectors.md": ("## primes", "## logfmt", "`text_lines`"),
    "formats.md": ("## text_lines",),
    "functions.md": ("soundex", "random_normal"),
    "aggregates.md": ("root_mean_square",),
    "magics.md": ("rates", "systemd"),
    "job-spec.md": ("systemd",),
}}.items():
    missing = [word for word in words if word not in PAGES[page]()]
    assert not missing, (page, missing)
offered = choices_of
assert {{"primes", "logfmt"}} < set(offered("connector", {{}}))
assert "text_lines" in offered("format", {{"connector": "single_file"}})
known = {{"soundex", "random_normal", "root_mean_square"}}
assert known < {{name for name, _ in completion._functions()}}
assert "rates" in completion.FLAG_VALUES["--view"]
assert "systemd" in completion.FLAG_VALUES["--target"]
"""
    python("-c", program)


def test_the_source_and_the_format_read(python: Program) -> None:
    program = """
from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.formats import line_format
from arroyo_nb.schema import TEXT, Field, Schema

primes = CONNECTORS.get("primes")
recorder = primes.recorder(TableSpec("p", primes.columns({}), {"below": 1100}))
first, second = recorder.chunks(None)
(again,) = recorder.chunks(first.position)
assert again.rows["prime"] == second.rows["prime"]
print(first.rows["prime"].to_pylist()[:5], second.rows["prime"].to_pylist()[-1])

lines = line_format("text_lines").decoder(Schema((Field("word", TEXT),)), {}, None)
print(lines.decode(b"a\\nb c\\n", "f", 1).rows.to_pylist())
"""
    assert python("-c", program).splitlines() == [
        "[2, 3, 5, 7, 11] 1097",
        "[{'word': 'a'}, {'word': 'b c'}]",
    ]


def test_the_view_draws_and_the_target_delivers(python: Program) -> None:
    program = """
from pathlib import Path

from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.source import ScriptText
from arroyo_nb.views.sections import VIEWS

snapshot = Snapshot("r", RunState.RUNNING, rows_per_s=7.25)
print(VIEWS.get("rates").static(snapshot, "", asked=True))
spec = JobSpec(
    "few", "CREATE TABLE p WITH (connector = 'primes', below = 9); SELECT * FROM p"
)
file = read(ScriptText(spec.text, "job.yaml"))
made = TARGETS.get("systemd").deliver(file, file.plan(), Path("/jobs/few"))
print(made.command, made.files["few.service"].splitlines()[5])
"""
    assert python("-c", program).splitlines() == [
        "<p>7.2 rows/s</p>",
        "systemctl --user enable --now /jobs/few/few.service "
        "ExecStart=/usr/bin/env arroyo-nb run job.yaml",
    ]
