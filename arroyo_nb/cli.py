"""The ``arroyo-nb`` command: run, explain and check scripts and jobs without Jupyter.

Exit status: 0 finished, 1 failed or wrong, 2 wrong usage, 130 interrupted. Standard
output has rows only; what went wrong and what was left out is told on standard error.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb import headless, roots
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.job.log import LOGS
from arroyo_nb.promote import SUFFIXES
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.source import Source

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

FINISHED, FAILED, INTERRUPTED = 0, 1, 130
NOTEBOOK = ".ipynb"
STDIN, STDIN_NAME = "-", "<stdin>"

MODES, FORCE = tuple(mode.value for mode in StopMode), "force"
_MODES = (
    "checkpoint ends the micro-batch that runs, graceful reads all that has come by "
    "now, immediate waits for neither"
)

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.do(arguments)
    except ArroyoError as error:
        headless.say_aside(str(error))
        return FAILED
    except KeyboardInterrupt:
        headless.say_aside("interrupted")
        return INTERRUPTED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arroyo-nb", description="Streaming SQL in Arroyo's dialect, on Spark."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    _command(commands, "explain", "print the plan of a script", _explain)
    _add_check(commands)
    _add_promote(commands)
    _add_diff(commands)
    _add_stop(commands)
    _add_attach(commands)
    return parser


def _add_run(commands: _Commands) -> None:
    run = _command(commands, "run", "run a script; bare SELECTs print JSON lines", _run)
    run.add_argument("--state-dir", metavar="DIR", help="keep state here, and resume")
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
        type=int,
        metavar="N",
        help="of a job: serve /healthz and /metrics there, on loopback; 0: a free port",
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
        help=f"of a job: what SIGTERM does; {_MODES}",
    )
    _add_changed(run)
    run.add_argument(
        "--submitted",
        action="store_true",
        help="of a job: run on the Spark of the spark-submit that started this process",
    )


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


def _add_check(commands: _Commands) -> None:
    check = _command(
        commands,
        "check",
        "print errors as file:line:col: message; of a job or a notebook also what "
        "production would do differently, and where they drifted apart",
        _check,
        also=" or FILE.ipynb",
    )
    _add_deny(check)
    _add_parameters(check)


def _add_promote(commands: _Commands) -> None:
    text = "make a job of a cell: a folder to review and to run"
    promote = commands.add_parser("promote", help=text, description=text)
    promote.add_argument("file", metavar="FILE.ipynb", help="the notebook")
    promote.add_argument(
        "--name", required=True, metavar="N", help="name of the cell's run, or its id"
    )
    promote.add_argument(
        "-o", "--out", metavar="DIR", type=Path, help="the job's folder; else jobs/N"
    )
    promote.add_argument(
        "--target",
        default="local",
        metavar="T",
        help="where it runs: local, spark-submit, kubernetes or arroyo",
    )
    _add_deny(promote)
    _add_parameters(promote)
    promote.set_defaults(do=_promote)


def _add_diff(commands: _Commands) -> None:
    text = (
        "print how the plans of two jobs or scripts differ, and whether one goes on "
        "from the other's checkpoint: else the exit status is 1"
    )
    diff = commands.add_parser("diff", help=text, description=text)
    diff.add_argument("old", metavar="OLD", help="a job.yaml or a script")
    diff.add_argument("new", metavar="NEW", help="the same, as it is now")
    diff.set_defaults(do=_diff)


def _add_stop(commands: _Commands) -> None:
    text = "stop a job that runs on this machine; it goes on where it stood"
    stop = commands.add_parser("stop", help=text, description=text)
    stop.add_argument("file", metavar="FILE", help="its job.yaml")
    stop.add_argument("--state-dir", metavar="DIR", help="as it was run with")
    stop.add_argument("--name", metavar="N", help="as it was run with")
    killing = f"{_MODES}; force kills its processes"
    stop.add_argument("--mode", choices=(*MODES, FORCE), default=MODES[0], help=killing)
    stop.set_defaults(do=_stop)


def _add_attach(commands: _Commands) -> None:
    text = "stop a job that runs, and tell what brings it into a notebook"
    attach = commands.add_parser("attach", help=text, description=text)
    attach.add_argument("file", metavar="FILE", help="its job.yaml")
    attach.set_defaults(do=_attach)


def _add_deny(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="CODE",
        help="a finding of this code is an error; all: any is",
    )


def _add_parameters(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what :NAME stands for in the cells of a notebook",
    )


def _command(
    commands: _Commands,
    name: str,
    text: str,
    do: Callable[[argparse.Namespace], int],
    *,
    also: str = "",
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    said = f"a script, job.yaml{also}; - reads a script from stdin"
    command.add_argument("file", metavar="FILE", help=said)
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


def _run(arguments: argparse.Namespace) -> int:
    with roots.narrowed(arguments.root):
        return _run_inside(arguments)


def _run_inside(arguments: argparse.Namespace) -> int:
    # A supervisor's stop is a stop with a final checkpoint, as an interrupt is.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    file, script = arguments.file, _read(arguments.file)
    if _is_spec(file):
        from arroyo_nb.promote import jobfile

        how = headless.JobRun(
            name=arguments.name,
            state_dir=arguments.state_dir,
            strict=arguments.strict,
            log=arguments.log,
            port=arguments.port,
            stop=StopMode(arguments.stop_mode),
            changed=arguments.changed,
            submitted=arguments.submitted,
        )
        headless.run_job(jobfile.read(script), how)
        return FINISHED
    for option in filter(None, (arguments.changed, *_of_jobs(arguments))):
        raise ArroyoError(f"{option} is of jobs: '{file}' is none")
    named = None if file == STDIN else Path(file).stem
    headless.run_script(
        script,
        name=arguments.name or named,
        state_dir=arguments.state_dir,
        strict=arguments.strict,
    )
    return FINISHED


def _of_jobs(arguments: argparse.Namespace) -> Iterator[str]:
    """The options that were given, and that a plain script has not."""
    unlike = {"port": None, "log": "text", "stop_mode": MODES[0], "submitted": False}
    for name, default in unlike.items():
        if getattr(arguments, name) != default:
            yield f"--{name.replace('_', '-')}"


def _explain(arguments: argparse.Namespace) -> int:
    print(_planned(arguments, _read(arguments.file)).explain())
    return FINISHED


def _planned(arguments: argparse.Namespace, script: Source) -> Plan:
    from arroyo_nb.planner import plan_script

    if _is_spec(arguments.file):
        from arroyo_nb.promote import jobfile

        return jobfile.read(script).plan(strict=arguments.strict)
    return plan_script(
        script.text, Catalog(), strict=arguments.strict, name=script.name
    )


def _check(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    try:
        return _checked(arguments)
    except ArroyoError as error:
        if all(problem.source is None for problem in error.problems):
            raise  # not of the file's text
        for problem in error.problems:
            print(job_commands.one_line(problem))
        return FAILED


def _checked(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    file = arguments.file
    if not (_is_spec(file) or file.endswith(NOTEBOOK)):
        if arguments.deny:
            raise ArroyoError(
                f"'{file}' has no findings to deny",
                hint="they are of jobs and notebooks",
            )
        _planned(arguments, _read(file))
        return FINISHED
    checked = job_commands.check_spec if _is_spec(file) else job_commands.check_notebook
    return checked(
        Path(file),
        values=job_commands.parameters(arguments.parameter),
        errors=job_commands.Strictness(arguments.deny, arguments.strict),
        say=print,
    )


def _attach(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    return job_commands.attach(Path(arguments.file), say=print)


def _promote(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    return job_commands.promote(
        Path(arguments.file),
        arguments.name,
        arguments.out,
        values=job_commands.parameters(arguments.parameter),
        deny=arguments.deny,
        target=arguments.target,
        say=print,
    )


def _diff(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    return job_commands.diff(arguments.old, arguments.new, say=print)


def _stop(arguments: argparse.Namespace) -> int:
    from arroyo_nb import job_commands

    mode = None if arguments.mode == FORCE else StopMode(arguments.mode)
    state = arguments.state_dir and Path(arguments.state_dir)
    path, name = Path(arguments.file), arguments.name
    return job_commands.stop(path, state, name, mode=mode, say=headless.say_aside)


def _is_spec(file: str) -> bool:
    return Path(file).suffix in SUFFIXES


if __name__ == "__main__":
    sys.exit(main())
