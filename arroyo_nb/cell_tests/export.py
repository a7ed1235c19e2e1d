"""Tests of cells as files: each with all that it needs beside the functions it calls.

A file has the test as it stands in its cell, and in its WHEN what earlier cells
declared. A test of a run that became a job names the job in its place.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arroyo_nb.catalog import ConnectorTable, Relation
from arroyo_nb.cell_tests import CellTest, Expectation, Expected, Given
from arroyo_nb.cell_tests.parse import OPTIONS
from arroyo_nb.cell_tests.run import title
from arroyo_nb.cell_tests.scratch import Query, Setting, columns_statement, scratch
from arroyo_nb.engine.folders import owner_of
from arroyo_nb.errors import ArroyoError, PromoteProblem
from arroyo_nb.jobs import SPEC
from arroyo_nb.jobs.carried_tests import (
    FUNCTIONS,
    MADE,
    TEST_SUFFIX,
    CarriedTests,
    distinct,
    imports,
    pytest_functions,
)
from arroyo_nb.plan import Plan
from arroyo_nb.plan.tables.render_ddl import PLAIN_NAME
from arroyo_nb.plan.user_functions import user_functions
from arroyo_nb.row_tables.define import PLAYER
from arroyo_nb.secrets_in_text import hide_secrets
from arroyo_nb.source import ScriptText
from arroyo_nb.tape.format import HEADER
from arroyo_nb.udfs.languages import SUFFIXES

_SEPARATOR = ";\n\n"


def carried(
    tests: Iterable[tuple[CellTest, Setting]], *, job: str | None = None
) -> CarriedTests:
    """Tests as files; one that means nothing outside of its notebook is left out, with
    a note.

    Parameters
    ----------
    tests
        Each with where it is run.
    job
        The run that is made a job, whose ``job.yaml`` is in the folder above.
    """
    cases = [*tests]
    names = distinct(case.name for case, _ in cases)
    kept: list[str] = []
    files: dict[str, str] = {}
    copies: dict[str, Path] = {}
    notes: list[str] = []
    for name, (case, setting) in zip(names, cases, strict=True):
        try:
            own, folders = _files(case, setting, name, job)
        except ArroyoError as problem:
            notes.append(
                f"the test '{case.name}' stays in the notebook: "
                f"{problem.problems[0].message}"
            )
            continue
        kept.append(name)
        files |= own
        copies |= folders
    return CarriedTests(tuple(kept), files, copies, tuple(notes))


def pytest_file(tests: CarriedTests, notebook: str, folder: str) -> str:
    """A file of tests for pytest.

    Parameters
    ----------
    notebook
        What they are of.
    folder
        Where their files are, beside this one.
    """
    return (
        f"{MADE} of {notebook}, anew at each export: put tests of your "
        'own into\nanother file."""\n\n'
        "from pathlib import Path\n\nimport pytest\n\n"
        f"{imports(tests)}\n"
        f'FOLDER = Path(__file__).with_name("{folder}")\n'
        f"{pytest_functions(tests, 'FOLDER', TEST_SUFFIX)}"
    )


def _files(
    case: CellTest, setting: Setting, name: str, job: str | None
) -> tuple[dict[str, str], dict[str, Path]]:
    """The files of a test, and the folders that are copied to it."""
    if not case.source.text:
        raise PromoteProblem("it is made of values of Python, and not of text")
    files: dict[str, str] = {}
    copies: dict[str, Path] = {}
    parts: list[str] = []
    for given in case.given:
        origin = given.origin
        if origin is not None:
            path = setting.path(origin)
            if origin in setting.variables or not path.exists():
                raise PromoteProblem(
                    f"the rows of '{given.table}' are those of the variable '{origin}'"
                )
            if (path / HEADER).is_file():
                origin = f"{name}_{given.table}.tape"
                copies[origin] = path
            else:
                origin = f"{name}_{given.table}{path.suffix}"
                files[origin] = _text_of(path)
        parts.append(_given(given, origin))
    made = scratch(case, setting, None)
    plan = _planned(case, made.plan)
    if job is not None and case.when.run == job:
        parts.append(f"WHEN JOB ../{SPEC}\n")
        shift = 0
    else:
        script, shift = _script(made.query, plan, made.given)
        parts.append(f"WHEN\n{script}\n")
        files |= _functions(plan)
    parts += (_expectation(expected, shift) for expected in case.expected)
    files[name + TEST_SUFFIX] = "\n".join(parts)
    if any(hide_secrets(text) != text for text in files.values()):
        raise PromoteProblem(
            "there is a secret in it, or in a table that it reads: write {{ NAME }}, "
            "which stands for an environment variable"
        )
    return files, copies


def _planned(case: CellTest, plan: Any) -> Plan | None:
    """The plan of a test; None: it has an error, as is expected."""
    try:
        made: Plan = plan()
    except ArroyoError:
        if any(expected.kind is Expected.ERROR for expected in case.expected):
            return None
        raise
    return made


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromoteProblem(f"'{path}' cannot be read: {error}") from None


def _given(given: Given, origin: str | None) -> str:
    words = ["GIVEN", _word(given.table)]
    words += ["FROM", _word(origin)] if origin is not None else []
    written = {key: option for option, key in OPTIONS.items()}
    for key, value in given.options.items():
        words += [written[key], _word(str(value))]
    return "\n".join((" ".join(words), *_body(given.rows)))


def _expectation(expected: Expectation, shift: int) -> str:
    if expected.kind is Expected.ERROR:
        words = ["EXPECT ERROR"]
        words += [_quoted(expected.value)] if expected.value is not None else []
        words += [f"LINE {expected.line + shift}"] if expected.line else []
        return f"{' '.join(words)}\n"
    head = title(expected)
    if expected.tolerance is not None:
        head = f"{head} WITHIN {expected.tolerance!r}"
    return "\n".join((head, *_body(expected.rows)))


def _body(rows: Any) -> Iterator[str]:
    """The rows of a text, from its first line on, and an empty line."""
    if isinstance(rows, ScriptText):
        lines = rows.text.split("\n")
        first = next(n for n, line in enumerate(lines) if line.strip())
        yield from (line.rstrip() for line in lines[first:])
    yield ""


def _word(text: str) -> str:
    return shlex.quote(text) if not PLAIN_NAME.fullmatch(text) else text


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def _script(query: Query, plan: Plan | None, given: frozenset[str]) -> tuple[str, int]:
    """The script with what earlier cells declared, and how many lines that takes."""
    own = _own_text(query)
    known = query.catalog.tables
    if plan is None:
        names: Sequence[str] = [*known]
    else:
        found = [table.name.lower() for table in _inputs_first(plan.read_before)]
        # A view that was given rows needs nothing; a table keeps its columns.
        names = [name for name in dict.fromkeys((*found, *given)) if name in known]
    before: list[str] = []
    for name in names:
        table = known[name]
        if table.definition is None:
            if name in given:
                continue
            raise PromoteProblem(
                f"'{table.name}' is a DataFrame: it exists only in the notebook",
                hint=f"GIVEN {table.name} with its rows",
            )
        reads = {read.name.lower() for read in table.definition.reads}
        if name in given and not reads <= set(names):
            continue
        before.append(_definition(table, is_given=name in given))
    head = "".join(f"{text}{_SEPARATOR}" for text in before)
    return head + own, head.count("\n")


def _definition(table: Relation, *, is_given: bool) -> str:
    """The statement of a table or a view. Where its own rows lie says nothing of one
    that is given others."""
    assert table.definition is not None, "it was asked before"
    if isinstance(table, ConnectorTable) and table.connector == PLAYER:
        if is_given:
            return columns_statement(table).removesuffix(";")
        path = Path(str(table.spec.options["path"]))
        folders = (path, *path.parents)
        if not path.exists() or any(owner_of(f) is not None for f in folders):
            raise PromoteProblem(
                f"it reads the rows of '{table.name}', which go with the session: "
                f"write GIVEN {table.name} and the rows into the test"
            )
    return table.definition.text.strip()


def _own_text(query: Query) -> str:
    """The script as it was written, with the tables in it that were given."""
    lost = [t.definition.text for t in query.declared.values() if t.definition]
    head = "".join(f"{text.strip()}{_SEPARATOR}" for text in lost)
    return head + query.script.text.strip()


def _inputs_first(tables: Iterable[Relation]) -> Iterator[Relation]:
    """Tables and views, each behind those that it reads."""
    seen: set[str] = set()

    def walk(table: Relation) -> Iterator[Relation]:
        if table.name.lower() in seen:
            return
        seen.add(table.name.lower())
        for below in table.definition.reads if table.definition else ():
            yield from walk(below)
        yield table

    for table in tables:
        yield from walk(table)


def _functions(plan: Plan | None) -> Mapping[str, str]:
    """The sources of the UDFs that a plan calls, by their paths."""
    if plan is None:
        return {}
    endings = {language: suffix for suffix, language in SUFFIXES.items()}
    files: dict[str, str] = {}
    for udf in user_functions(plan.sinks):
        if udf.not_portable:
            raise PromoteProblem(
                f"the function '{udf.name}' cannot leave its notebook: "
                f"{udf.not_portable}"
            )
        files[f"{FUNCTIONS}/{udf.name}{endings[udf.language]}"] = udf.text
    return files
