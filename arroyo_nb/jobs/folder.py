"""The folder of a job, as a pull request shows it: spec, plan, what was found, and the
test that it stays so."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs import LIBRARIES, PLAN, SPEC, ci
from arroyo_nb.jobs.carried_tests import NO_TESTS, CarriedTests
from arroyo_nb.jobs.hand_edits import NOTES, Promoted, leftovers, refuse_loss
from arroyo_nb.jobs.lint import Finding, lint, refuse, report
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec import STATE, JobSpec, Origin
from arroyo_nb.jobs.spec_file import JobFile, load, read_text
from arroyo_nb.jobs.targets import LOCAL, TARGETS
from arroyo_nb.plan import Plan
from arroyo_nb.udfs.languages import compiled_functions

LINT, IGNORED = "lint.md", ".gitignore"


@dataclass(frozen=True)
class Promotion:
    """A job's folder as it was written.

    Parameters
    ----------
    findings
        What production would do differently.
    command
        The one that runs the job.
    notes
        What else a person should know.
    """

    folder: Path
    spec: JobSpec
    findings: tuple[Finding, ...]
    command: str
    notes: tuple[str, ...] = ()


def promote(
    plan: Plan,
    name: str,
    folder: Path,
    *,
    trigger: timedelta | None = None,
    real_time: bool = False,
    origin: Origin | None = None,
    deny: Collection[str] = (),
    target: str = LOCAL,
    ends: str = "",
    overwrite: bool = False,
    tests: CarriedTests = NO_TESTS,
) -> Promotion:
    """Make a job of a cell's plan, and write its folder; other files in it stay, and
    what a promotion wrote there is written anew, unless somebody has edited it.

    Parameters
    ----------
    plan, name, trigger, real_time, origin
        As :func:`arroyo_nb.jobs.promotion.promoted` takes them.
    folder
        Is made where it is missing. A job that is in it is promoted again.
    deny
        Codes of findings that are errors.
    target
        Where it is to run: a name of :data:`arroyo_nb.jobs.targets.TARGETS`.
    ends
        The options by which the cell ends, which a job has not.
    overwrite
        Whether files that were changed by hand are written anew too.
    tests
        Those of its notebook.

    Raises
    ------
    ArroyoError
        When it cannot be a job, or not one of that target, or has a finding that is
        denied, or a file was changed by hand; nothing is written.
    """
    chosen = TARGETS.get(target)
    file = promoted(
        plan,
        name,
        trigger=trigger,
        real_time=real_time,
        origin=origin,
        before=before(folder),
        file=str(folder / SPEC),
    )
    made = file.plan()
    findings = tuple(lint(file, made))
    refuse(findings, deny)
    delivery = chosen.deliver(file, made, folder)
    tests = tests.within(ci.CELLS)
    texts = {
        PLAN: made.explain(),
        LINT: report(findings),
        ci.file_name(name): ci.text(name, deny, tests),
        **tests.files,
        **delivery.files,
    }
    texts[SPEC] = file.source.text
    _refuse_foreign(folder, ci.file_name(file.spec.name))
    if not overwrite:
        refuse_loss(folder, texts, file.spec)
    notes = tuple(_notes(folder, texts, ends, (*delivery.notes, *tests.notes)))
    compiled = compiled_functions(file.functions)
    _write(folder, file, texts)
    _write_libraries(folder, compiled)
    tests.write_copies(folder)
    return Promotion(folder, file.spec, findings, delivery.command, notes)


def _notes(
    folder: Path, texts: Mapping[str, str], ends: str, of_target: Iterable[str]
) -> Iterator[str]:
    if ends:
        yield (
            f"the cell ends by {ends}, its job does not: it reads on until it is "
            "stopped (arroyo-nb stop)"
        )
    if others := leftovers(folder, texts):
        yield (
            f"{', '.join(others)} in {folder} is of an earlier promotion, and was left "
            "as it is: remove it if it is not needed any more"
        )
    yield from of_target


def before(folder: Path) -> JobSpec | None:
    """The spec that is in a folder; None where there is none."""
    path = folder / SPEC
    return load(path).spec if path.exists() else None


def _write(folder: Path, file: JobFile, texts: Mapping[str, str]) -> None:
    noted = (Promoted.of(folder) or Promoted()).and_then(folder, texts, file.spec)
    written = {**texts, NOTES: noted.text}
    try:
        if file.spec.state == STATE:
            written[IGNORED] = _ignoring(folder / IGNORED, f"/{STATE}/\n")
        for name, text in written.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PromoteProblem(f"cannot write '{folder}': {error.strerror}") from None


def _write_libraries(folder: Path, compiled: Iterable[Path]) -> None:
    """Put the libraries of Rust UDFs beside the spec: where the job runs there may be
    no compiler."""
    try:
        for library in compiled:
            (folder / LIBRARIES).mkdir(exist_ok=True)
            shutil.copyfile(library, folder / LIBRARIES / library.name)
    except OSError as error:
        raise PromoteProblem(f"cannot write '{folder}': {error.strerror}") from None


def _refuse_foreign(folder: Path, test: str) -> None:
    """Refuse to write over what no promotion has written."""
    foreign = [name for name in (PLAN, LINT) if (folder / name).exists()]
    if foreign and not (folder / SPEC).exists():
        raise PromoteProblem(
            f"'{folder / foreign[0]}' is not a job's: there is no {SPEC} beside it",
            hint="promote to another folder",
        )
    path = folder / test
    if path.exists() and not ci.is_generated_test(read_text(path)):
        raise PromoteProblem(
            f"'{path}' was not made by a promotion, which writes a test of that name",
            hint="give yours another name",
        )


def _ignoring(path: Path, line: str) -> str:
    """The text of a list of what is ignored, with a line more if need be."""
    text = path.read_text("utf-8") if path.exists() else ""
    if line in text.splitlines(keepends=True):
        return text
    return text + "\n" * (bool(text) and not text.endswith("\n")) + line
