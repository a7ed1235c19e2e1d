"""The ``arroyo-nb`` command: run, explain and check a script without a notebook.

Exit status: 0 finished, 1 failed or wrong, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from arroyo_nb.errors import ArroyoError
from arroyo_nb.session import Session
from arroyo_nb.source import Source

FINISHED, FAILED, INTERRUPTED = 0, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        text = _read(arguments.file)
        status: int = arguments.do(arguments, text)
    except ArroyoError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
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
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ArroyoError(f"cannot read '{file}': {reason}") from error
    return Source(text, "<stdin>" if file == "-" else file)


def _run(arguments: argparse.Namespace, script: Source) -> int:
    # A supervisor's stop is a stop with a final checkpoint, as an interrupt is.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    name = arguments.name or (Path(arguments.file).stem if script.name else None)
    with Session(state_dir=arguments.state_dir, strict=arguments.strict) as session:
        run = session.run(
            script.text,
            name=name,
            source=script.name,
            traced=False,
            printed=True,
            wait=True,
        )
    if run is None:
        raise ArroyoError("The provided SQL does not contain a query")
    return FINISHED


def _explain(arguments: argparse.Namespace, script: Source) -> int:
    session = Session(strict=arguments.strict)
    print(session.plan(script.text, source=script.name).explain())
    return FINISHED


def _check(arguments: argparse.Namespace, script: Source) -> int:
    session = Session(strict=arguments.strict)
    try:
        session.plan(script.text, source=script.name)
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
