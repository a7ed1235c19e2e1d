"""``promote`` and ``diff``: make a job of a cell, and compare two jobs."""

from __future__ import annotations

import argparse
from pathlib import Path

from arroyo_nb.cli.arguments import Commands, add_command, add_deny, add_parameters
from arroyo_nb.jobs.targets import LOCAL, TARGETS


def add_to(commands: Commands) -> None:
    """Add the commands, in the order of the help."""
    _add_promote(commands)
    _add_export_tests(commands)
    _add_diff(commands)


def _add_promote(commands: Commands) -> None:
    text = "make a job of a cell: a folder to review and to run"
    promote = add_command(commands, "promote", text, _promote)
    promote.add_argument("file", metavar="FILE.ipynb", help="the notebook")
    promote.add_argument(
        "--name",
        metavar="N",
        help="name of the cell's run, or its id; without it the error lists the names",
    )
    promote.add_argument(
        "-o", "--out", metavar="DIR", type=Path, help="the job's folder; else jobs/N"
    )
    promote.add_argument(
        "--target",
        default=LOCAL,
        metavar="T",
        help=f"where it runs: {', '.join(TARGETS.names)}",
    )
    promote.add_argument(
        "--overwrite",
        action="store_true",
        help="write also files that were changed by hand since the last promotion",
    )
    promote.set_defaults(takes_notebook=True)
    add_deny(promote)
    add_parameters(promote)


def _add_export_tests(commands: Commands) -> None:
    text = "write the tests in the cells of a notebook as files of pytest"
    export = add_command(commands, "export-tests", text, _export_tests)
    export.add_argument("file", metavar="FILE.ipynb", help="the notebook")
    export.add_argument(
        "-o",
        "--out",
        metavar="DIR",
        type=Path,
        help="where they are written; else tests beside the notebook",
    )
    export.set_defaults(takes_notebook=True)
    add_parameters(export)


def _add_diff(commands: Commands) -> None:
    text = (
        "print how the plans of two jobs or scripts differ, and whether one goes on "
        "from the other's checkpoint: else the exit status is 1"
    )
    diff = add_command(commands, "diff", text, _diff)
    diff.add_argument("old", metavar="OLD", help="a job.yaml or a script")
    diff.add_argument("new", metavar="NEW", help="the same, as it is now")


def _promote(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    return job_commands.promote(
        Path(arguments.file),
        arguments.name,
        arguments.out,
        values=job_commands.parameters(arguments.parameter),
        deny=arguments.deny,
        target=arguments.target,
        overwrite=arguments.overwrite,
        say=print,
    )


def _export_tests(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    return job_commands.export_tests(
        Path(arguments.file),
        arguments.out,
        values=job_commands.parameters(arguments.parameter),
        say=print,
    )


def _diff(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    return job_commands.diff(arguments.old, arguments.new, say=print)
