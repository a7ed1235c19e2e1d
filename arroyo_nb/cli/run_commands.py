"""``run``, ``explain`` and ``check``: scripts and jobs without Jupyter."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from arroyo_nb import allowed_roots
from arroyo_nb.catalog import Catalog
from arroyo_nb.cli import headless
from arroyo_nb.cli.arguments import (
    MODES,
    MODES_HELP,
    NOTEBOOK,
    STDIN,
    Commands,
    add_deny,
    add_parameters,
    add_script_command,
    is_spec,
    read_functions,
    read_script,
)
from arroyo_nb.cli.exit_codes import FAILED, FINISHED, STOPPED, UsageProblem
from arroyo_nb.engine.sigterm import BY_SIGTERM
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.jobs.runner.log import LOGS
from arroyo_nb.jobs.runner.stop_limit import STANDARD, STOP_LIMIT_S, StopLimit
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.jobs.spec import SPEC_OF_A_SCRIPT
from arroyo_nb.run.options import BY_NAME, RunOptions
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs import registry

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

LAST_PORT = 65535
LONGEST_STOP_S = 86_400


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a script as an interrupt does."""


def add_to(commands: Commands) -> None:
    """Add the commands, in the order of the help."""
    _add_run(commands)
    add_script_command(commands, "explain", "print the plan of a script", _explain)
    _add_check(commands)


def _add_run(commands: Commands) -> None:
    text = "run a script; bare SELECTs print JSON lines"
    run = add_script_command(commands, "run", text, _run)
    run.add_argument("--state-dir", metavar="DIR", help=BY_NAME["state_dir"].doc)
    run.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="read and write files only there; may be given again",
    )
    run.add_argument("--name", metavar="N", help="name of the run in the state folder")
    run.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="of a job: serve /healthz, /readyz and /metrics there, on loopback; 0: a "
        "free port",
    )
    run.add_argument(
        "--log",
        choices=tuple(LOGS),
        default="text",
        help="of a job: what happens to it, on standard error, also as JSON lines",
    )
    run.add_argument(
        "--stop-mode",
        choices=MODES,
        default=MODES[0],
        help=f"of a job: what SIGTERM does; {MODES_HELP}",
    )
    run.add_argument(
        "--stop-limit",
        type=_seconds,
        default=STANDARD,
        metavar="SECONDS",
        help="by when the process ends after SIGTERM, whatever holds it up; "
        f"{STOP_LIMIT_S:g} if not said",
    )
    _add_changed(run)
    run.add_argument(
        "--submitted",
        action="store_true",
        help="of a job: run on the Spark of the spark-submit that started this process",
    )


def _seconds(text: str) -> StopLimit:
    if not text.isdecimal() or not 1 <= int(text) <= LONGEST_STOP_S:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of seconds from 1 to {LONGEST_STOP_S}"
        )
    return StopLimit(float(text))


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: 0 to {LAST_PORT}")
    return int(text)


def _add_changed(run: argparse.ArgumentParser) -> None:
    changed = run.add_mutually_exclusive_group()
    for option, text in (
        ("--fork", "go on from a copy of its state"),
        ("--fresh", "set its state aside and begin anew"),
    ):
        changed.add_argument(
            option,
            dest="changed",
            action="store_const",
            const=option,
            default="",
            help=f"of a job that was changed: {text}",
        )


def _add_check(commands: Commands) -> None:
    check = add_script_command(
        commands,
        "check",
        "print errors as file:line:col: message; of a job or a notebook also what "
        "would behave differently in production, and where a job and its cell differ",
        _check,
        also=" or FILE.ipynb",
    )
    check.set_defaults(takes_notebook=True)
    add_deny(check)
    add_parameters(check)


def _run(arguments: argparse.Namespace) -> int:
    with ExitStack() as narrowed:
        try:
            narrowed.enter_context(allowed_roots.narrowed(arguments.root))
        except RunProblem as error:
            raise UsageProblem(error.message, hint=error.hint) from None
        return _run_inside(arguments)


def _run_inside(arguments: argparse.Namespace) -> int:
    # A supervisor's stop is a stop with a final checkpoint, as an interrupt is.
    signal.signal(signal.SIGTERM, partial(_terminate, arguments.stop_limit))
    file, script = arguments.file, read_script(arguments.file)
    functions = read_functions(arguments)
    given = {name: getattr(arguments, name) for name in ("strict", "state_dir")}
    options = RunOptions.parse(given)
    if is_spec(file):
        from arroyo_nb.jobs import spec_file

        launch = headless.JobLaunch(
            name=arguments.name,
            options=options,
            log=arguments.log,
            port=arguments.port,
            stop=StopMode(arguments.stop_mode),
            changed=arguments.changed,
            submitted=arguments.submitted,
            stop_limit=arguments.stop_limit,
        )
        ended = headless.run_job(spec_file.read(script), launch)
        is_stopped = ended.state is JobState.STOPPED and ended.signal is not None
        return STOPPED + ended.signal if is_stopped and ended.signal else FINISHED
    for option in filter(None, (arguments.changed, *_of_jobs(arguments))):
        raise UsageProblem(
            f"{option} needs a job.yaml: '{file}' is a script", hint=SPEC_OF_A_SCRIPT
        )
    named = None if file == STDIN else Path(file).stem
    headless.run_script(
        script, options, name=arguments.name or named, functions=[*functions.values()]
    )
    return FINISHED


def _of_jobs(arguments: argparse.Namespace) -> Iterator[str]:
    """The options that were given, and that a plain script has not."""
    unlike = {"port": None, "log": "text", "stop_mode": MODES[0], "submitted": False}
    for name, default in unlike.items():
        if getattr(arguments, name) != default:
            yield f"--{name.replace('_', '-')}"


def _explain(arguments: argparse.Namespace) -> int:
    print(_planned(arguments, read_script(arguments.file)).explain())
    return FINISHED


def _planned(arguments: argparse.Namespace, script: ScriptText) -> Plan:
    from arroyo_nb.plan.planner import plan_script

    if is_spec(arguments.file):
        from arroyo_nb.jobs import spec_file

        read_functions(arguments)
        return spec_file.read(script).plan(strict=arguments.strict)
    catalog = Catalog().with_functions(registry.rows(read_functions(arguments)))
    return plan_script(script.text, catalog, strict=arguments.strict, name=script.name)


def _check(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    try:
        return _checked(arguments)
    except ArroyoError as error:
        if all(problem.source is None for problem in error.problems):
            raise  # not of the file's text
        for problem in error.problems:
            print(job_commands.one_line(problem))
        return FAILED


def _checked(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    file = arguments.file
    if not (is_spec(file) or file.endswith(NOTEBOOK)):
        if arguments.deny:
            raise ArroyoError(
                f"'{file}' has no findings to deny",
                hint="they are of jobs and notebooks",
            )
        _planned(arguments, read_script(file))
        return FINISHED
    read_functions(arguments)  # they have their own: none may be given
    checked = job_commands.check_spec if is_spec(file) else job_commands.check_notebook
    return checked(
        Path(file),
        values=job_commands.parameters(arguments.parameter),
        errors=job_commands.Strictness(arguments.deny, arguments.strict),
        say=print,
    )


def _terminate(limit: StopLimit, number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a second one is heard
    text = f"it has not ended within {limit.seconds:g} s: the process is ended"
    limit.begin(number, lambda: headless.say_aside(text))
    raise Terminated(BY_SIGTERM)
