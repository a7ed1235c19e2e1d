"""``jobs``, ``status``, ``logs``, ``stop``, ``attach``: look at jobs, and stop them."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from arroyo_nb.cli import headless
from arroyo_nb.cli.arguments import (
    MODES,
    MODES_HELP,
    Commands,
    add_command,
    add_job,
    add_place,
    job_folder,
    job_spec,
)
from arroyo_nb.cli.exit_codes import UsageProblem
from arroyo_nb.run.stopping import StopMode

FORCE = "force"


def add_to(commands: Commands) -> None:
    """Add the commands, in the order of the help."""
    _add_jobs(commands)
    _add_status(commands)
    _add_logs(commands)
    _add_stop(commands)
    _add_attach(commands)


def _add_jobs(commands: Commands) -> None:
    text = "list the jobs that run on this machine, and those at rest in a folder"
    jobs = add_command(commands, "jobs", text, _jobs)
    jobs.add_argument("folder", metavar="DIR", nargs="?", default=".", type=Path)
    jobs.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_status(commands: Commands) -> None:
    text = "print what a job does now: state, readiness, counts, lag"
    status = add_command(commands, "status", text, _status)
    add_place(status)
    probe = status.add_mutually_exclusive_group()
    for name, what in (("ready", "does its work"), ("live", "lives")):
        probe.add_argument(
            f"--{name}",
            dest="probe",
            action="store_const",
            const=name,
            default="",
            help=f"exit with 1 unless the job {what}: a probe that needs no port",
        )
    status.add_argument("--json", action="store_true", help="one JSON object")


def _add_logs(commands: Commands) -> None:
    text = "print the log of a job: its newest events, oldest first"
    logs = add_command(commands, "logs", text, _logs)
    add_place(logs)
    logs.add_argument("-n", type=int, default=100, metavar="N", help="how many")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    logs.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_stop(commands: Commands) -> None:
    text = "stop a job that runs on this machine; it goes on where it stood"
    stop = add_command(commands, "stop", text, _stop)
    add_place(stop)
    killing = f"{MODES_HELP}; force kills its processes"
    stop.add_argument("--mode", choices=(*MODES, FORCE), default=MODES[0], help=killing)


def _add_attach(commands: Commands) -> None:
    text = "stop a job that runs, and tell what brings it into a notebook"
    attach = add_command(commands, "attach", text, _attach)
    add_job(attach)


def _jobs(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    if not arguments.folder.is_dir():
        raise UsageProblem(f"'{arguments.folder}' is not a folder")
    return job_status.jobs(arguments.folder, as_json=arguments.json, say=print)


def _status(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    return job_status.status(
        job_folder(arguments), probe=arguments.probe, as_json=arguments.json, say=print
    )


def _logs(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    return job_status.logs(
        job_folder(arguments),
        lines=arguments.n,
        follow=arguments.follow,
        as_json=arguments.json,
        say=partial(print, flush=True),
    )


def _stop(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    mode = None if arguments.mode == FORCE else StopMode(arguments.mode)
    folder = job_folder(arguments)
    return job_commands.stop(folder, mode=mode, say=headless.say_aside)


def _attach(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    return job_commands.attach(job_spec(arguments.file), say=print)
