"""The streaming cells of a notebook's file, planned in their order; nothing is run.

What a cell's ``:name`` stands for only Python knows. Here it is what is given, or what
the cells before assign to that name once, where that is a literal.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb import magic_options as flags
from arroyo_nb.catalog import Catalog
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import ArroyoError, PromoteProblem
from arroyo_nb.jobs.spec import SPEC_OF_A_SCRIPT
from arroyo_nb.magic_options import CellLine
from arroyo_nb.notebook_variables import bind
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import ARRIVES
from arroyo_nb.source import ScriptText
from arroyo_nb.test_commands import parse_test_line
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import PYTHON, read_definitions
from arroyo_nb.udfs.python.from_cells import NotebookNames

if TYPE_CHECKING:
    from arroyo_nb.cell_tests import CellTest
    from arroyo_nb.cell_tests.scratch import Setting
    from arroyo_nb.plan import Plan
    from arroyo_nb.udfs.definition import Udf

MAGIC, UDF_MAGIC, ROWS_MAGIC = "%%arroyo", "%%arroyo_udf", "%%arroyo_rows"
TEST_MAGIC = "%%arroyo_test"
_EXPECTED = "raises-exception"
"""The tag of a cell that is there for its error."""


@dataclass(frozen=True)
class PlannedCell:
    """A streaming cell.

    Parameters
    ----------
    id
        That of the notebook's format; empty where the file is older than those.
    name
        That of its run.
    line
        Its options.
    plan
        None where there is none: what is wrong with it is :attr:`error`.
    """

    id: str
    name: str
    line: CellLine
    plan: Plan | None = None
    error: ArroyoError | None = None


def streaming_cells(
    path: Path, values: Mapping[str, Any] | None = None, *, strict: bool = False
) -> list[PlannedCell]:
    """The cells of a notebook that run or declare something, in order.

    Parameters
    ----------
    path
        The notebook's file.
    values
        What parameters stand for; these come before what is assigned in cells.
    strict
        Refuse what Arroyo would refuse, also where a cell does not say so.

    Raises
    ------
    PromoteProblem
        When the file is no notebook.
    """
    return _read(path, values, strict=strict).planned


def cell_tests(
    path: Path, values: Mapping[str, Any] | None = None
) -> list[tuple[CellTest, Setting]]:
    """The tests of a notebook, in order, each with the tables and runs of the cells
    before it; those with an error are left out.

    Parameters
    ----------
    path, values
        As of :func:`streaming_cells`.

    Raises
    ------
    PromoteProblem
        When the file is no notebook.
    """
    return _read(path, values).tests


def _read(
    path: Path, values: Mapping[str, Any] | None, *, strict: bool = False
) -> _CellReader:
    reader = _CellReader(path, dict(values or {}), strict)
    for number, cell in enumerate(_code_cells(path), 1):
        reader.read(cell, number)
    return reader


def find(cells: list[PlannedCell], name: str) -> PlannedCell:
    """The last cell whose run, or which itself, is called so.

    Raises
    ------
    ArroyoError
        When there is none, or it has no plan.
    """
    found = [cell for cell in cells if name in (cell.id, cell.name)]
    if not found:
        raise PromoteProblem(
            f"no cell of the notebook runs '{name}'",
            hint=did_you_mean(name, (cell.name for cell in cells)),
        )
    if found[-1].error is not None:
        raise found[-1].error
    return found[-1]


class _CellReader:
    """The state of a notebook whose cells are read one after the other."""

    def __init__(self, path: Path, values: dict[str, Any], strict: bool) -> None:
        self.planned: list[PlannedCell] = []
        self.tests: list[tuple[CellTest, Setting]] = []
        self._file = path.name
        self._folder = path.absolute().parent
        self._given = values
        self._strict = strict
        self._assigned: dict[str, Any] = {}
        self._unknown: set[str] = set()
        self._catalog = Catalog()
        self._functions: dict[str, Udf] = {}
        self._names = NotebookNames()
        self._unnamed = 0

    def read(self, cell: Mapping[str, Any], number: int) -> None:
        """Plan a cell, or look at what it assigns."""
        typed = _text(cell)
        text = typed.lstrip("\n")
        first, _, below = text.partition("\n")
        above = 1 + len(typed) - len(text)
        body = ScriptText(below, f"{self._file} cell {number}", above)
        magic, _, behind = first.strip().partition(" ")
        expected = _EXPECTED in cell.get("metadata", {}).get("tags", ())
        if magic != MAGIC:
            try:
                if magic == ROWS_MAGIC:
                    self._read_rows(behind, body)
                elif magic == TEST_MAGIC:
                    self._read_test(behind, body)
                else:
                    self._read_functions(magic, behind, body, text)
            except ArroyoError as error:
                if not expected:
                    identity = str(cell.get("id", ""))
                    self.planned.append(
                        PlannedCell(identity, "", CellLine(), error=error)
                    )
            if magic not in (ROWS_MAGIC, TEST_MAGIC):
                self._note(text)
            return
        planned = self._planned(str(cell.get("id", "")), first, body)
        if planned is None or (expected and planned.error is not None):
            return
        if planned.plan is not None:
            self._catalog = planned.plan.catalog
        self.planned.append(planned)

    def _read_functions(
        self, magic: str, language: str, body: ScriptText, text: str
    ) -> None:
        """Take in the UDFs of a cell that is no SQL."""
        if magic == UDF_MAGIC:
            found = read_definitions(body, language.strip().lower() or PYTHON)
        else:
            found = self._names.read(_python(text), body.name)
        self._functions |= {udf.name: udf for udf in found}

    def _read_rows(self, line: str, body: ScriptText) -> None:
        """Declare the table of rows of a cell; its tape is not written."""
        from arroyo_nb.plan.planner import plan_script
        from arroyo_nb.row_tables.define import read_rows, rows_statement

        name, options = flags.parse_rows_line(line)
        data: Any = body
        if (source := options.get("data")) is not None:
            data = user_path(source)
            # What a variable has only Python knows.
            if not data.is_file():
                return
        if options.get("help"):
            return
        event_time, arrives = options.get("event_time"), options.get("arrives", ARRIVES)
        found = read_rows(data, event_time, arrives, types=options.get(flags.TYPES))
        tape = user_path(options.get("path", f"{name}.tape"))
        statement = rows_statement(name, found, options.get("watermark"), tape)
        self._catalog = plan_script(statement, self._catalog, name=body.name).catalog

    def _read_test(self, line: str, body: ScriptText) -> None:
        """Check a test: its text, its rows, its query; nothing is run."""
        from arroyo_nb.cell_tests.check import check_test
        from arroyo_nb.cell_tests.parse import parse_test
        from arroyo_nb.cell_tests.scratch import Setting

        name, options = parse_test_line(line)
        if options.get("help"):
            return
        case = parse_test(body, name)
        plans = {cell.name: cell.plan for cell in self.planned if cell.plan}
        setting = Setting(
            self._catalog.with_functions(registry.rows(self._functions)),
            self._strict,
            plans,
            bind=partial(bind, values={**self._assigned, **self._given}),
            base=self._folder,
        )
        check_test(case, setting)
        self.tests.append((case, setting))

    def _planned(
        self, identity: str, first: str, body: ScriptText
    ) -> PlannedCell | None:
        """The cell, planned; None where it is only checked, or asks for help."""
        try:
            line = flags.parse_line(first.removeprefix(MAGIC))
        except ArroyoError as error:
            error.message = f"{body.name}: {error.message}"
            return PlannedCell(identity, "", CellLine(), error=error)
        if line.get("help") or line.get("no_run"):
            return None
        name = line.get("name") or self._next_name()
        try:
            return PlannedCell(identity, name, line, self._plan(line, body))
        except ArroyoError as error:
            return PlannedCell(identity, name, line, error=error)

    def _plan(self, line: CellLine, body: ScriptText) -> Plan:
        from arroyo_nb.plan.planner import plan_script

        sql = body.with_text(bind(body, {**self._assigned, **self._given}))
        options = line.run_options()
        strict = self._strict or options.strict
        catalog = self._catalog.with_functions(registry.rows(self._functions))
        plan = plan_script(sql, catalog, strict=strict)
        return plan if options.ttl is None else plan.with_updating_ttl(options.ttl)

    def _next_name(self) -> str:
        # As the magics count: a name for each cell that has none.
        self._unnamed += 1
        return f"query_{self._unnamed}"

    def _note(self, code: str) -> None:
        """Take down literals; a name that is assigned in another way, or again, is
        not known."""
        for name, value in _assignments(code):
            if value is None or name in self._assigned:
                self._unknown.add(name)
                self._assigned.pop(name, None)
            elif name not in self._unknown:
                self._assigned[name] = ast.literal_eval(value)


def _python(code: str) -> str:
    """A cell without the lines that are IPython's own."""
    lines = code.split("\n")
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)


def _assignments(code: str) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that Python assigns, each with its literal where it is one."""
    try:
        tree = ast.parse(_python(code))
    except (SyntaxError, ValueError):
        return
    literals: set[int] = set()
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                if _is_literal(value):
                    literals.add(id(target))
                    yield name, value
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from [] if id(node) in literals else [(node.id, None)]


def literal(text: str) -> Any:
    """The value of a Python literal; of what is none, the text itself.

    >>> literal("60"), literal("EWR")
    (60, 'EWR')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _code_cells(path: Path) -> list[Mapping[str, Any]]:
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        for cell in code:
            _text(cell)
    except OSError as error:
        raise PromoteProblem(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise PromoteProblem(
            f"'{path}' is not a notebook", hint=f"for a script {SPEC_OF_A_SCRIPT}"
        ) from None
    return code


def _text(cell: Mapping[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)
