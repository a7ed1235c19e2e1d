"""The ``arroyo-nb`` command: run, explain and check a script without a notebook.

Exit status: 0 finished, 1 failed or wrong, 2 wrong usage, 130 interrupted. Standard
output has rows only; what went wrong and what was left out is told on standard error.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.snapshot import RunState, before_end
from arroyo_nb.session import Session
from arroyo_nb.source import Source

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.run import Run

FINISHED, FAILED, INTERRUPTED = 0, 1, 130
STDIN, STDIN_NAME = "-", "<stdin>"
STATUS_S = 0.2
"""How often a terminal is told where a run is."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        text = _read(arguments.file)
        status: int = arguments.do(arguments, text)
    except ArroyoError as error:
        _say_aside(str(error))
        return FAILED
    except KeyboardInterrupt:
        _say_aside("interrupted")
        return INTERRUPTED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arroyo-nb", description="Streaming SQL in Arroyo's dialect, on Spark."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = _command(commands, "run", "run a script; bare SELECTs print JSON lines", _run)
    run.add_argument("--state-dir", metavar="DIR", help="keep state here, and resume")
    run.add_argument("--name", metavar="N", help="name of the run in the state folder")
    _command(commands, "explain", "print the plan of a script", _explain)
    _command(commands, "check", "print errors as file:line:col: message", _check)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    do: Callable[[argparse.Namespace, Source], int],
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("file", metavar="FILE.sql", help="the script; - reads stdin")
    command.add_argument(
        "--strict", action="store_true", help="refuse what Arroyo would refuse"
    )
    command.set_defaults(do=do)
    return command


def _read(file: str) -> Source:
    try:
        read = sys.stdin.buffer.read if file == STDIN else Path(file).read_bytes
        text = read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ArroyoError(f"cannot read '{file}': {reason}") from error
    return Source(text, STDIN_NAME if file == STDIN else file)


def _run(arguments: argparse.Namespace, script: Source) -> int:
    # A supervisor's stop is a stop with a final checkpoint, as an interrupt is.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    file = arguments.file
    with Session(
        state_dir=arguments.state_dir, strict=arguments.strict, tell=_say_aside
    ) as session:
        try:
            with _status_line(session):
                run = session.run(
                    script.text,
                    name=arguments.name or (None if file == STDIN else Path(file).stem),
                    source=script.name,
                    traced=False,
                    printed=True,
                    wait=True,
                )
        finally:
            for started in session.runs.values():
                _tell_notes(started)
    if run is None:
        raise ArroyoError("The provided SQL does not contain a query")
    return FINISHED


def _say_aside(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _status_line(session: Session) -> Iterator[None]:
    """Where a person looks on, say in place where the run is until it has ended."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def tell() -> None:
        said = ""
        while not over.wait(STATUS_S):
            runs = tuple(session.runs.values())  # the main thread may add one
            status = "; ".join(filter(None, map(_status, runs)))
            if said or status:
                _say_in_place(status)
            said = status

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        _say_in_place("")


def _status(run: Run) -> str:
    """Where a run is; nothing where its rows go to the same place and show it."""
    if run.state is RunState.STARTING:
        return run.waiting_for
    printed = any(output.sink.table is None for output in run.outputs)
    if printed and sys.stdout.isatty():
        return ""
    picture = run.snapshot(0)
    said = f"{run.name}: {picture.rows_in:,} rows in, {picture.rows_per_s:,.0f} rows/s"
    mark = before_end(picture.watermark)
    return said if mark is None else f"{said}, watermark {mark:%Y-%m-%d %H:%M:%S}"


def _say_in_place(text: str) -> None:
    columns = shutil.get_terminal_size().columns
    sys.stderr.write(f"\r{text[: columns - 1]}\x1b[K\r")
    sys.stderr.flush()


def _tell_notes(run: Run) -> None:
    """Say what the rows do not: where it began, what it left out, what to look at."""
    if run.resumed:
        went_on = f"'{run.name}' went on from its checkpoint in {run.folder}"
        _say_aside(f"note: {went_on}")
    _tell_left_out(run)
    for hint in run.plan.hints:
        _say_aside(f"note: {hint}")


def _tell_left_out(run: Run) -> None:
    """Say which rows came in and did not count."""
    for source in run.snapshot(0).sources:
        if source.dropped_rows:
            _say_aside(
                f"malformed: {source.dropped_rows:,} rows of '{source.name}' dropped"
            )
    groups = sum(output.late_groups for output in run.outputs)
    if groups:
        _say_aside(
            f"late: rows left out of {groups:,} groups of a window that had closed "
            "(a notebook counts and shows each row)"
        )


def _explain(arguments: argparse.Namespace, script: Source) -> int:
    print(_planned(arguments, script).explain())
    return FINISHED


def _planned(arguments: argparse.Namespace, script: Source) -> Plan:
    from arroyo_nb.planner import plan_script

    return plan_script(
        script.text, Catalog(), strict=arguments.strict, name=script.name
    )


def _check(arguments: argparse.Namespace, script: Source) -> int:
    try:
        _planned(arguments, script)
    except ArroyoError as error:
        for problem in error.problems:
            print(_one_line(problem, script))
        return FAILED
    return FINISHED


def _one_line(problem: ArroyoError, script: Source) -> str:
    start = problem.span.start if problem.span else 0
    line, column = script.line_and_column(start)
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{script.name}:{line}:{column}: {problem.message}{hint}"


if __name__ == "__main__":
    sys.exit(main())
