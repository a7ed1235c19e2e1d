"""The ``arroyo-nb`` command: run, explain and check scripts and jobs without Jupyter.

Exit status: see :data:`arroyo_nb.cli.exit_codes.EXIT_CODES`. Standard output has rows
only; what went wrong and what was left out is told on standard error.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from arroyo_nb.cli import (
    control_commands,
    explore_commands,
    headless,
    kafka_command,
    promote_commands,
    run_commands,
    version_command,
)
from arroyo_nb.cli.arguments import NOTEBOOK
from arroyo_nb.cli.exit_codes import (
    EXIT_CODES,
    INTERRUPTED,
    SEE_CODES,
    STOPPED,
    UsageProblem,
    exit_code,
)
from arroyo_nb.cli.pipes import drop_broken, flush, is_broken
from arroyo_nb.cli.run_commands import Terminated
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs import SPEC
from arroyo_nb.jobs.runner.stop_limit import forget_limits
from arroyo_nb.registry import nearest_name

EXAMPLES = {
    "run": """\
  arroyo-nb run job.sql --state-dir state
  arroyo-nb run jobs/by_hour/job.yaml --port 8080 --log json
  arroyo-nb run job.yaml --fork""",
    "explain": "  arroyo-nb explain job.sql",
    "check": """\
  arroyo-nb check flights.ipynb -p least=60
  arroyo-nb check job.yaml --deny all""",
    "sql": """\
  arroyo-nb sql
  arroyo-nb sql tables.sql
  echo "SELECT count(*) FROM trips;" | arroyo-nb sql tables.sql""",
    "peek": """\
  arroyo-nb peek orders localhost:9092
  arroyo-nb peek wss://host.example/ticks -n 3""",
    "topics": "  arroyo-nb topics localhost:9092",
    "head": """\
  arroyo-nb head job.sql trips -n 5
  arroyo-nb head job.yaml""",
    **kafka_command.EXAMPLES,
    "promote": "  arroyo-nb promote flights.ipynb --name by_hour --target kubernetes",
    "export-tests": "  arroyo-nb export-tests flights.ipynb -o tests",
    "diff": "  arroyo-nb diff old/job.yaml new/job.yaml",
    "jobs": """\
  arroyo-nb jobs
  arroyo-nb jobs ~/streams --json""",
    "status": """\
  arroyo-nb status jobs/by_hour/job.yaml
  arroyo-nb status job.yaml --ready""",
    "logs": """\
  arroyo-nb logs job.yaml -n 20
  arroyo-nb logs job.yaml --follow""",
    "stop": """\
  arroyo-nb stop job.yaml
  arroyo-nb stop job.yaml --mode graceful""",
    "attach": "  arroyo-nb attach job.yaml",
    "version": "  arroyo-nb version --jars",
}

MEANT = {
    "start": "run", "resume": "run", "restart": "run", "submit": "run",
    "kill": "stop", "cancel": "stop", "ps": "jobs", "list": "jobs", "ls": "jobs",
    "tail": "logs", "plan": "explain", "lint": "check", "validate": "check",
    "deploy": "promote", "repl": "sql", "shell": "sql", "query": "sql",
    "broker": kafka_command.NAME,
}  # fmt: skip
"""The command that is meant by a word that people try."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    try:
        try:
            return _main(sys.argv[1:] if argv is None else argv)
        finally:
            forget_limits()
            flush()  # here and not when Python ends, which would tell of a closed pipe
    except BrokenPipeError:
        if not drop_broken():
            raise
        return STOPPED + signal.SIGPIPE


def _main(argv: Sequence[str]) -> int:
    parser = command_parser()
    _refuse_unknown_command(parser, argv)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse_unknown_words(arguments.command, unknown)
    try:
        _name_specs(arguments)
        _refuse_notebook(arguments)
        status: int = arguments.do(arguments)
    except ArroyoError as error:
        if isinstance(error.__cause__, BrokenPipeError) and is_broken(sys.stdout):
            raise error.__cause__ from None  # who reads rows has enough of them
        headless.say_aside(str(error))
        return exit_code(error)
    except Terminated:
        headless.say_aside("terminated")
        return STOPPED + signal.SIGTERM
    except KeyboardInterrupt:
        headless.say_aside("interrupted")
        return INTERRUPTED
    return status


def _refuse_unknown_command(
    parser: argparse.ArgumentParser, argv: Sequence[str]
) -> None:
    """Suggest a command, where the first word is none; argparse only lists them."""
    word = argv[0] if argv else ""
    if not word or word.startswith("-") or word in EXAMPLES:
        return
    meant = MEANT.get(word) or nearest_name(word, EXAMPLES)
    near = f"did you mean '{meant}'? " if meant else ""
    parser.error(f"there is no command '{word}': {near}known: {', '.join(EXAMPLES)}")


def _refuse_unknown_words(
    command: argparse.ArgumentParser, words: Sequence[str]
) -> NoReturn:
    """Suggest an option, where a word looks like one; argparse only repeats it."""
    options = [word for word in words if word.startswith("-")]
    word, _, _ = (options or words)[0].partition("=")
    near = nearest_name(word, command._option_string_actions) if options else None
    command.error(
        f"unrecognized arguments: {' '.join(words)}"
        + (f"; did you mean '{near}'?" if near else "")
    )


def _name_specs(arguments: argparse.Namespace) -> None:
    """A job's folder stands for the spec in it."""
    for name in ("file", "old", "new"):
        file = getattr(arguments, name, None)
        if file and (Path(file) / SPEC).is_file():
            setattr(arguments, name, str(Path(file) / SPEC))


def _refuse_notebook(arguments: argparse.Namespace) -> None:
    if arguments.takes_notebook:
        return
    for name in ("file", "old", "new"):
        file = str(getattr(arguments, name, ""))
        if file.endswith(NOTEBOOK):
            raise UsageProblem(
                f"'{file}' is a notebook: this command takes a job.yaml or a script",
                hint=f"arroyo-nb promote {shlex.quote(file)} --name NAME makes a job "
                "of the cell of that run, and arroyo-nb check looks at all its cells",
            )


def command_parser() -> argparse.ArgumentParser:
    """The parser of ``arroyo-nb``, with a parser for each of its commands."""
    parser = argparse.ArgumentParser(
        prog="arroyo-nb",
        description="Streaming SQL in Arroyo's dialect, on Spark.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_VersionAction, nargs=0, help="print the version"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for family in (
        run_commands,
        explore_commands,
        kafka_command,
        promote_commands,
        control_commands,
        version_command,
    ):
        family.add_to(commands)
    for name, command in commands.choices.items():
        command.epilog = f"examples:\n{EXAMPLES[name]}\n\n{SEE_CODES}"
        command.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


class _VersionAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from arroyo_nb.jobs.versions import installed

        pairs = ((name, installed(name)) for name in ("arroyo-nb", "pyspark"))
        print(", ".join(f"{name} {number}" for name, number in pairs if number))
        parser.exit()
