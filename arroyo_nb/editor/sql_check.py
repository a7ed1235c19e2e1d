"""The SQL of a cell: its parameters, its script, and what was checked before.

A short script is planned as a whole, just as it is when it runs. Of a long one each
statement is planned by itself against the tables that the ones before have declared,
and what was found is kept: while somebody types, only the statement that changes and
those that read what it declares are planned again.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from arroyo_nb.catalog import Catalog, MemoryTable, Relation
from arroyo_nb.editor.background_reads import reads_version
from arroyo_nb.editor.problems import CellProblem, problems_of, visible
from arroyo_nb.editor.script_check import CheckedScript, check_script
from arroyo_nb.editor.statements import statements
from arroyo_nb.errors import ArroyoError, CatalogProblem, PlanProblem
from arroyo_nb.notebook_variables import BoundScript, bound_script
from arroyo_nb.plan import Plan
from arroyo_nb.plan.build import declared_twice
from arroyo_nb.plan.script_files import ScriptFiles, SinkFiles
from arroyo_nb.source import Span

WHOLE = 8
"""Up to so many statements a script is planned as a whole, in some 10 ms."""

MOST_KEPT = 2_000
"""So many checked statements are kept, of all cells."""


@dataclass(frozen=True)
class CheckedCell:
    """The SQL of a cell that was checked.

    Parameters
    ----------
    problems
        In the order of their places, which are those of what was typed.
    plan
        That of the script, or of its last statement where these were planned one by
        one; None: it has an error.
    bound
        The script that was planned.
    """

    problems: tuple[CellProblem, ...]
    plan: Plan | None
    bound: BoundScript


def check_sql(
    text: str, catalog: Catalog, variables: Mapping[str, Any], *, strict: bool
) -> CheckedCell:
    """Check a script against the tables that are there; nothing is changed or run."""
    bound = bound_script(text, variables)
    wrong = [
        CellProblem(problem, visible(problem.span, text)) for problem in bound.problems
    ]
    places = list(statements(bound.text))
    if not places:
        return CheckedCell(tuple(wrong), None, bound)
    checked = _checked_once(bound.text, places, catalog, strict=strict)
    found = [_typed(problem, bound, text) for problem in checked.problems]
    # What stands for a parameter without a value is wrong for that reason alone.
    found = [p for p in found if not any(_overlap(p.span, w.span) for w in wrong)]
    problems = sorted((*wrong, *found), key=lambda problem: problem.span)
    return CheckedCell(tuple(problems), checked.plan, bound)


_LAST: list[tuple[tuple[str, bool, tuple[bool, int]], Catalog, CheckedScript]] = []
"""The script that was checked last: a page asks for its problems and its result."""


def _checked_once(
    text: str, places: Sequence[Span], catalog: Catalog, *, strict: bool
) -> CheckedScript:
    # As it was before: what is read meanwhile belongs to the next check.
    asked = (text, strict, reads_version())
    for last_asked, last, checked in _LAST:
        is_same = last.tables is catalog.tables and _versions(last) == _versions(
            catalog
        )
        if is_same and last_asked == asked:
            return checked
    if len(places) <= WHOLE:
        checked = check_script(text, catalog, strict=strict)
    else:
        checked = _check_each(text, places, catalog, strict=strict)
    _LAST[:] = [(asked, catalog, checked)]
    return checked


def _versions(catalog: Catalog) -> tuple[object, ...]:
    """Which functions there are: an edited one is another one."""
    return tuple(
        (name, row.udf.version if row.udf else id(row))
        for name, row in catalog.functions.items()
    )


def _typed(problem: CellProblem, bound: BoundScript, text: str) -> CellProblem:
    made = problem.mapped(bound.typed)
    return replace(made, span=visible(made.span, text))


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


@dataclass(frozen=True)
class _Kept:
    """A statement that was checked by itself.

    Parameters
    ----------
    reads
        What its words meant as names of tables.
    names
        All names of tables, where an error may suggest one of them.
    checked
        What was found; places count from the statement's begin.
    declares, drops
        What is different in the catalog after it.
    files
        Those that it reads and writes.
    """

    reads: Mapping[str, Relation]
    names: tuple[str, ...] | None
    checked: CheckedScript
    declares: Mapping[str, Relation]
    drops: tuple[str, ...]
    files: tuple[SinkFiles, ...]


_KEPT: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()
_WORD = re.compile(r"\w+")
_CREATED = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMPORARY\s+)?(?:TABLE|VIEW)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?(?:\"(?P<quoted>[^\"]+)\"|(?P<name>\w+))",
    re.IGNORECASE,
)
_INSERTED = re.compile(r"INSERT\s+INTO\s+\"?(?P<name>\w+)", re.IGNORECASE)


def _check_each(
    text: str, places: Sequence[Span], catalog: Catalog, *, strict: bool
) -> CheckedScript:
    checks = _StatementChecks(catalog, strict=strict)
    for place in places:
        checks.add(text[place.start : place.end], place.start)
    return CheckedScript(tuple(checks.problems), checks.plan)


class _StatementChecks:
    """The statements of a script so far, each checked against the tables before it.

    Parameters
    ----------
    catalog
        What is there before the script.
    strict
        Whether what differs from Arroyo is refused.
    """

    def __init__(self, catalog: Catalog, *, strict: bool) -> None:
        self._catalog = catalog
        self._strict = strict
        self._functions = _versions(catalog)
        self._tables = dict(catalog.tables)
        self._files = ScriptFiles()
        self._declared: set[str] = set()
        self._broken: set[str] = set()
        self._unfilled: set[str] = set()
        self.problems: list[CellProblem] = []
        self.plan: Plan | None = None
        """That of the last statement; None: it has an error."""

    def add(self, statement: str, start: int) -> None:
        """Check the next statement, which begins at a place of the script."""
        kept = _checked(
            *(statement, self._tables, self._catalog, self._functions),
            strict=self._strict,
        )
        found = [
            problem
            for problem in kept.checked.problems
            # What is wrong with a table is told where it is declared.
            if not _is_at(problem, statement, self._broken, CatalogProblem)
            and not _is_at(problem, statement, self._unfilled, PlanProblem)
        ]
        is_broken = kept.checked.plan is None
        if is_broken and (filled := _INSERTED.match(statement)):
            target = self._tables.get(filled["name"].lower())
            if isinstance(target, MemoryTable) and target.plan is None:
                # What reads it is not told that nothing was inserted.
                self._unfilled.add(target.name.lower())
        if (name := _created(statement)) is not None:
            if name in self._declared:
                self.problems.append(_declared_twice(statement).moved(start))
                return
            self._declare(name, is_broken=is_broken)
        found += self._file_problems(kept, statement)
        self._take(kept)
        self.problems += (problem.moved(start) for problem in found)
        self.plan = kept.checked.plan

    def _declare(self, name: str, *, is_broken: bool) -> None:
        self._declared.add(name)
        if is_broken:
            # What reads it is not told that there is no such table.
            self._broken.add(name)
            self._tables.pop(name, None)

    def _take(self, kept: _Kept) -> None:
        """What the statement declares, and what it drops."""
        for dropped in kept.drops:
            self._tables.pop(dropped, None)
            self._declared.discard(dropped)
        self._tables.update(kept.declares)

    def _file_problems(self, kept: _Kept, statement: str) -> Iterator[CellProblem]:
        """What is wrong with its files and those of the statements before."""
        for files in kept.files:
            try:
                self._files.add(files)
                self._files.add_writer(files.sink)
            except PlanProblem as problem:
                yield from problems_of(problem, statement)


def _checked(
    statement: str,
    tables: Mapping[str, Relation],
    catalog: Catalog,
    functions: tuple[object, ...],
    *,
    strict: bool,
) -> _Kept:
    key = (statement, strict, functions, reads_version())
    reads = dict(_read(statement, tables))
    names = tuple(tables)
    kept = _KEPT.get(key)
    if kept is not None and _is_same(kept.reads, reads) and kept.names in (None, names):
        _KEPT.move_to_end(key)
        return kept
    before = replace(catalog, tables=dict(tables))
    checked = check_script(statement, before, strict=strict)
    after = before.tables if checked.plan is None else checked.plan.catalog.tables
    kept = _Kept(
        reads,
        names if checked.plan is None else None,
        checked,
        {n: table for n, table in after.items() if tables.get(n) is not table},
        tuple(name for name in tables if name not in after),
        _files_of(checked.plan),
    )
    _KEPT[key] = kept
    while len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return kept


def _files_of(plan: Plan | None) -> tuple[SinkFiles, ...]:
    built = () if plan is None else plan.stages[0].sinks
    found = map(SinkFiles.of, built)
    return tuple(files for files in found if files.reads or files.writes)


def _read(
    statement: str, tables: Mapping[str, Relation]
) -> Iterator[tuple[str, Relation]]:
    """The tables that its words may name, more rather than fewer."""
    for word in _words(statement):
        if word in tables:
            yield word, tables[word]
    for name in _odd_names(tuple(tables)):
        if name in statement.lower():
            yield name, tables[name]


@lru_cache(MOST_KEPT)
def _words(statement: str) -> frozenset[str]:
    return frozenset(_WORD.findall(statement.lower()))


@lru_cache(MOST_KEPT)
def _odd_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are more than a word, and are quoted where they are written."""
    return tuple(name for name in names if _WORD.fullmatch(name) is None)


def _is_same(one: Mapping[str, Relation], other: Mapping[str, Relation]) -> bool:
    return one.keys() == other.keys() and all(one[n] is other[n] for n in one)


def _created(statement: str) -> str | None:
    found = _CREATED.match(statement)
    return (found["quoted"] or found["name"]).lower() if found else None


def _declared_twice(statement: str) -> CellProblem:
    found = _CREATED.match(statement)
    assert found is not None, "it declares a name"
    span = Span(*found.span("quoted" if found["quoted"] else "name"))
    return CellProblem(declared_twice(found["quoted"] or found["name"], span), span)


def _is_at(
    problem: CellProblem, statement: str, names: set[str], kind: type[ArroyoError]
) -> bool:
    """Whether an error of that kind is about a name whose own error is told already."""
    at = problem.error.span
    if at is None or not isinstance(problem.error, kind):
        return False
    return statement[at.start : at.end].strip('"').lower() in names
