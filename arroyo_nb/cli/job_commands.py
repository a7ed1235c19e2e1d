"""What the command does with notebooks and specs: promote, check and diff.

Nothing here needs a JVM. What is found is said a line at a time, as compilers say it.
"""

from __future__ import annotations

import difflib
import os
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from arroyo_nb.catalog import Catalog
from arroyo_nb.cell_tests.check import check_test_file
from arroyo_nb.cell_tests.export import carried, pytest_file
from arroyo_nb.cli import job_status, notebook_file
from arroyo_nb.cli.notebook_file import PlannedCell
from arroyo_nb.errors import ArroyoError, PromoteProblem, RunProblem
from arroyo_nb.jobs import JOBS, SPEC, SUFFIXES, folder, owner, spec_file, transfer
from arroyo_nb.jobs.carried_tests import TEST_SUFFIX, identifier, write_files
from arroyo_nb.jobs.ci import CELLS
from arroyo_nb.jobs.fresh_start import fresh_start_notes
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.review import review
from arroyo_nb.jobs.runner.counts import read_progress
from arroyo_nb.jobs.spec import JobSpec, Origin
from arroyo_nb.jobs.spec_changes import JobVersion, judge
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.targets import LOCAL
from arroyo_nb.plan import Plan
from arroyo_nb.plan.explain.text import streaming_plan
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.state.compatibility import Outcome

Say: TypeAlias = Callable[[str], None]
GOOD, BAD = 0, 1
WORD_S, WORDS_S = 2.0, 10.0
"""When who waits for a job to stop is told so, and how often again."""


def parameters(given: Sequence[str]) -> dict[str, Any]:
    """What ``:name`` stands for, as ``NAME=VALUE`` says it: Python's literals are what
    they are, whatever else is a text.

    Raises
    ------
    PromoteProblem
        When one is no such pair.

    >>> parameters(["least=60", "origin=EWR"])
    {'least': 60, 'origin': 'EWR'}
    """
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not equals or not name.isidentifier():
            hint = "write it as in -p least=60"
            raise PromoteProblem(f"'{name}{equals}' is not a parameter", hint=hint)
    return {name: notebook_file.literal(value) for name, _, value in pairs}


def promote(
    notebook: Path,
    name: str | None,
    out: Path | None,
    *,
    values: Mapping[str, Any],
    deny: Collection[str] = (),
    target: str = LOCAL,
    overwrite: bool = False,
    say: Say,
) -> int:
    """Make a job of a cell, and say where it is, what was found, and how it is run."""
    cells = notebook_file.streaming_cells(notebook, values)
    if name is None:
        names = dict.fromkeys(cell.name for cell in cells if cell.name)
        raise PromoteProblem(
            "a job is made of one run of the notebook, and none is named",
            hint=f"add --name N, where N is one of: {', '.join(names)}"
            if names
            else "name a run in its cell: %%arroyo NAME <<",
        )
    there = out or notebook.parent / JOBS / name
    cell = notebook_file.find(cells, name)
    assert cell.plan is not None, "one with an error was refused"
    options = cell.line.run_options()
    made = folder.promote(
        cell.plan,
        name,
        there,
        trigger=options.trigger,
        origin=_origin(notebook, cell, there),
        deny=deny,
        target=target,
        ends=options.ends,
        overwrite=overwrite,
        tests=carried(notebook_file.cell_tests(notebook, values), job=cell.name),
    )
    for finding in made.findings:
        say(finding.line)
    for note in made.notes:
        say(f"note: {note}")
    say(f"wrote {there}; run it with: {made.command}")
    return GOOD


def export_tests(
    notebook: Path, out: Path | None, *, values: Mapping[str, Any], say: Say
) -> int:
    """Write the tests of a notebook as files of pytest, and say which are not."""
    wrong = [
        problem
        for cell in notebook_file.streaming_cells(notebook, values)
        if cell.error is not None
        for problem in cell.error.problems
    ]
    for problem in wrong:
        say(one_line(problem))
    tests = carried(notebook_file.cell_tests(notebook, values))
    for note in tests.notes:
        say(f"note: {note}")
    if not tests.names:
        raise PromoteProblem(
            f"'{notebook}' has no test that can be exported",
            hint="a cell with a test begins with %%arroyo_test NAME",
        )
    there = out or notebook.parent / "tests"
    stem = identifier(notebook.stem)
    data = f"{stem}_cells"
    name = f"test_{stem}.py"
    kept = tests.within(data)
    files = {**kept.files, name: pytest_file(tests, notebook.name, data)}
    stale = write_files(there, files, name)
    kept.write_copies(there)
    for path in stale:
        say(f"note: '{path}' is of no test any more: remove it")
    number = len(tests.names)
    said = f"{number} test{'s' * (number != 1)}"
    say(f"wrote {said} to {there / name}; run: pytest {shlex.quote(str(there))}")
    return BAD if wrong or tests.notes else GOOD


def attach(path: Path, *, say: Say) -> int:
    """Stop a job, and say what goes on with it in a notebook."""
    job = spec_file.load(path)
    stopped = transfer.import_state(job, _wait_reporter(transfer.state_of(job), say))
    name = job.spec.name
    who = "was not running" if stopped is None else f"stopped, process {stopped.pid}"
    say(f"'{name}' {who}; its state is in {transfer.state_of(job)}")
    say(f"in a notebook: %arroyo attach {shlex.quote(str(path.absolute()))}")
    say(f"as a job again: {job.command}")
    return GOOD


def stop(folder: Path, *, mode: StopMode | None, say: Say) -> int:
    """Stop the job whose run is in a folder, and say what was stopped."""
    stopped = owner.stop_job(folder, _wait_reporter(folder, say), mode=mode)
    if stopped is None:
        raise RunProblem(f"no job runs in '{folder}'")
    say(f"stopped '{stopped.name}', process {stopped.pid}")
    return GOOD


def _wait_reporter(folder: Path, say: Say) -> Callable[[], None]:
    """What is called again and again while a job stops: it says now and then that, and
    for what, it is waited."""
    begun_s = time.monotonic()
    next_s = begun_s + WORD_S

    def check() -> None:
        nonlocal next_s
        if time.monotonic() < next_s:
            return
        reasons = "; ".join(map(str, read_progress(folder).get("reasons", ())))
        so_long_s = next_s - begun_s
        next_s += WORDS_S
        say(
            f"stopping since {so_long_s:.0f} s: what is being written is written first"
            + (f" ({reasons})" if reasons else "")
        )

    return check


class Strictness(NamedTuple):
    """What is an error beyond what always is: findings of these codes, and what Arroyo
    would refuse."""

    deny: Collection[str] = ()
    strict: bool = False


def check_notebook(
    notebook: Path, *, values: Mapping[str, Any], errors: Strictness, say: Say
) -> int:
    """Say what is wrong with the cells of a notebook, and with the jobs of them."""
    cells = notebook_file.streaming_cells(notebook, values, strict=errors.strict)
    problems = [p for cell in cells if cell.error for p in cell.error.problems]
    for problem in problems:
        say(one_line(problem))
    status = BAD if problems else GOOD
    for path in _specs_beside(notebook):
        try:  # one that cannot be read may be of this notebook, and hides no other
            if _is_of(notebook, path):
                status |= check_spec(path, values=values, errors=errors, say=say)
        except ArroyoError as error:
            status = BAD
            for problem in error.problems:
                say(one_line(problem))
    return status


def check_spec(
    path: Path, *, values: Mapping[str, Any], errors: Strictness, say: Say
) -> int:
    """Report what would behave differently in production, and whether a job is still
    what its cell runs, and what was reviewed."""
    made = review(path, errors.deny, strict=errors.strict)
    for line in made.findings:
        say(line)
    for line in _odd_rows(path, made.file.plan(strict=errors.strict)):
        say(line)
    bad = bool(made.denied)
    tests = sorted((path.parent / CELLS).glob(f"*{TEST_SUFFIX}"))
    wrong = (line for test in tests for line in _wrong_with(test))
    for line in (*_drift(made.file, path, values), *made.unreviewed, *wrong):
        bad = True
        say(line)
    return BAD if bad else GOOD


def _wrong_with(test: Path) -> Iterator[str]:
    """What is wrong with a test in a job's folder, a line each; an error in the job's
    own script has its place there."""
    for problem in check_test_file(test):
        line = one_line(problem)
        is_own = problem.source is not None and problem.source.name == str(test)
        yield line if is_own else f"{test}: {line}"


def _odd_rows(path: Path, plan: Plan) -> Iterator[str]:
    """What is odd in the recordings and files that a job reads, where they are here."""
    from arroyo_nb.run.sources.fit_notes import recorded_notes
    from arroyo_nb.run.sources.sources import sources

    read = (source.table for sink in plan.sinks for source in sources(sink))
    for table in {table.name: table for table in read}.values():
        with suppress(ArroyoError):  # a job may be checked where its files are not
            for note in recorded_notes(table):
                yield f"{path}: data: '{table.name}': {note}"


def diff(old: str, new: str, *, say: Say) -> int:
    """Say what differs between the plans of two jobs, and what becomes of a
    checkpoint of the old one."""
    one, other = _version(old), _version(new)
    plans = streaming_plan(one.plan), streaming_plan(other.plan)
    for line in difflib.unified_diff(*plans, old, new, lineterm=""):
        say(line)
    verdict = judge(one, other)
    for difference in verdict.differences:
        say(str(difference))
    say(f"verdict: {verdict.outcome.value}")
    if verdict.outcome is Outcome.FRESH:
        for note in fresh_start_notes(other.plan, _state_of(old)):
            say(f"note: {note}")
    return GOOD if verdict.outcome is Outcome.COMPATIBLE else BAD


def _state_of(file: str) -> Path | None:
    """Where the run of a job keeps its state, unless it was started otherwise."""
    if Path(file).suffix not in SUFFIXES:
        return None
    return job_status.run_folder(Path(file), None, None)


def one_line(problem: ArroyoError) -> str:
    """An error as ``file:line:column: message``."""
    place = ""
    if problem.source is not None:
        start = problem.span.start if problem.span else 0
        line, column = problem.source.place(start)
        place = f"{problem.source.name}:{line}:{column}: "
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{place}{problem.message}{hint}"


def _origin(notebook: Path, cell: PlannedCell, there: Path) -> Origin:
    back = Path(os.path.relpath(notebook, there)).as_posix()
    return Origin(back, cell.id or cell.name)


def _drift(file: JobFile, path: Path, values: Mapping[str, Any]) -> Iterator[str]:
    """How a spec differs from what its cell would be promoted to now."""
    origin = file.spec.origin
    if origin is None:
        return
    notebook = path.parent / origin.notebook
    if not notebook.exists():
        yield f"{path}: drift: there is no notebook '{notebook}' any more"
        return
    try:
        cells = notebook_file.streaming_cells(notebook, values)
        cell = notebook_file.find(cells, origin.cell)
        assert cell.plan is not None, "one with an error was refused"
        trigger = cell.line.run_options().trigger
        made = promoted(
            cell.plan, file.spec.name, trigger=trigger, before=file.spec, file=str(path)
        )
    except ArroyoError as error:
        yield f"{path}: drift: its cell is not a job any more: {one_line(error)}"
        return
    # Versions are those of the day.
    now = replace(made.spec, packages=file.spec.packages)
    if now != file.spec:
        yield (
            f"{path}: drift: '{cell.name}' of {notebook}, with the cells above it, run "
            "or not, makes another job now"
        )
        texts = file.spec.text.splitlines(), now.text.splitlines()
        yield from difflib.unified_diff(*texts, str(path), str(notebook), lineterm="")


def _specs_beside(notebook: Path) -> list[Path]:
    """The specs in folders beside a notebook, or a level below."""
    here = notebook.parent
    return sorted((*here.glob(f"*/{SPEC}"), *here.glob(f"*/*/{SPEC}")))


def _is_of(notebook: Path, path: Path) -> bool:
    """Whether the job of a spec comes from a cell of a notebook."""
    origin = spec_file.load(path).spec.origin
    found = None if origin is None else path.parent / origin.notebook
    return found is not None and found.exists() and found.samefile(notebook)


def _version(file: str) -> JobVersion:
    if Path(file).suffix in SUFFIXES:
        job = spec_file.load(Path(file))
        return JobVersion(job.spec, job.plan())
    text = spec_file.read_text(Path(file))
    plan = plan_script(text, Catalog(), name=file)
    return JobVersion(JobSpec(Path(file).stem, text), plan)
