"""What the commands share: how one is added, and the options that several take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.cli.exit_codes import UsageProblem
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.jobs import SUFFIXES
from arroyo_nb.registry import nearest_name
from arroyo_nb.run.options import BY_NAME
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.source import ScriptText

if TYPE_CHECKING:
    from arroyo_nb.udfs.definition import Udf

NOTEBOOK = ".ipynb"
STDIN, STDIN_NAME = "-", "<stdin>"

MODES = tuple(mode.value for mode in StopMode)
MODES_HELP = (
    "checkpoint ends the micro-batch that runs, graceful reads all that has come by "
    "now, immediate waits for neither"
)

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    commands: Commands, name: str, text: str, do: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Add a command, which calls a function with its arguments."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text
    )
    command.set_defaults(do=do, command=command, takes_notebook=False)
    return command


def add_script_command(
    commands: Commands,
    name: str,
    text: str,
    do: Callable[[argparse.Namespace], int],
    *,
    also: str = "",
) -> argparse.ArgumentParser:
    """Add a command that takes a script or a job; ``also`` says what else it takes."""
    command = add_command(commands, name, text, do)
    said = f"a script, job.yaml{also}; - reads a script from stdin"
    command.add_argument("file", metavar="FILE", help=said)
    strict = BY_NAME["strict"]
    command.add_argument(strict.flag, action="store_true", help=strict.doc)
    command.add_argument(
        "--udf",
        action="append",
        default=[],
        metavar="FILE",
        help="functions that the script may call, in .py or .rs; may be given again",
    )
    return command


def add_deny(command: argparse.ArgumentParser) -> None:
    """Add ``--deny``, as often as it is given."""
    command.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="CODE",
        help="a finding of this code is an error; all: any is",
    )


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Add ``--parameter``, as often as it is given."""
    command.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what :NAME stands for in the cells of a notebook",
    )


def add_place(command: argparse.ArgumentParser) -> None:
    """Add what says where a job's state is."""
    add_job(command)
    command.add_argument("--state-dir", metavar="DIR", help="as it was run with")
    command.add_argument("--name", metavar="N", help="as it was run with")


def add_job(command: argparse.ArgumentParser) -> None:
    """Add the job that a command is about."""
    said = "its job.yaml, or its name as jobs lists it"
    command.add_argument("file", metavar="JOB", help=said)


def read_script(file: str) -> ScriptText:
    """The script in a file, or on standard input.

    Raises
    ------
    UsageProblem
        When it cannot be read.
    """
    try:
        read = sys.stdin.buffer.read if file == STDIN else Path(file).read_bytes
        text = read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageProblem(f"cannot read '{file}': {reason}") from error
    return ScriptText(text, STDIN_NAME if file == STDIN else file)


def read_functions(arguments: argparse.Namespace) -> dict[str, Udf]:
    """The functions in the files of ``--udf``, by name; nothing of them is run.

    Raises
    ------
    ArroyoError
        When one is wrong, or two have one name.
    UsageProblem
        When one cannot be read, or what it is for is no script.
    """
    from arroyo_nb.udfs.languages import language_of, read_definitions

    if arguments.udf and (is_spec(arguments.file) or arguments.file.endswith(NOTEBOOK)):
        raise UsageProblem(f"--udf needs a script: '{arguments.file}' has its own")
    found: dict[str, Udf] = {}
    for file in arguments.udf:
        language = language_of(Path(file))
        for udf in read_definitions(read_script(file), language):
            if udf.name in found:
                raise CatalogProblem(
                    f"'{file}' defines {udf.name}, as a file before it does"
                )
            found[udf.name] = udf
    return found


def is_spec(file: str) -> bool:
    """Whether a file is named as a job spec is."""
    return Path(file).suffix in SUFFIXES


def job_folder(arguments: argparse.Namespace) -> Path:
    """The state folder of the job that the arguments name."""
    from arroyo_nb.cli import job_status

    state, name = arguments.state_dir, arguments.name
    if not state and not name and (folder := job_status.folder_of(arguments.file)):
        return folder
    spec = job_spec(arguments.file)
    return job_status.run_folder(spec, Path(state) if state else None, name)


def job_spec(file: str) -> Path:
    """The job.yaml of a job: its path, its folder, or the name that jobs lists."""
    from arroyo_nb.cli import job_status

    specs = job_status.specs_of(file)
    if len(specs) > 1:
        raise UsageProblem(
            f"'{file}' names {len(specs)} jobs: {', '.join(map(str, specs))}",
            hint="type the path of its job.yaml",
        )
    if not specs:
        near = nearest_name(file, job_status.names())
        hint = f"did you mean '{near}'? " if near else ""
        raise UsageProblem(
            f"there is no job '{file}', and no such file",
            hint=f"{hint}arroyo-nb jobs lists the jobs that run and those below this "
            "folder; of another one type the path of its job.yaml",
        )
    return specs[0]
