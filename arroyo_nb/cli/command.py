"""The ``arroyo-nb`` command: run, explain and check scripts and jobs without Jupyter.

Exit status: see :data:`EXIT_CODES`. Standard output has rows only; what went wrong and
what was left out is told on standard error.
"""

from __future__ import annotations

import argparse
import os
import select
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeAlias

from arroyo_nb import allowed_roots
from arroyo_nb.catalog import Catalog
from arroyo_nb.cli import headless
from arroyo_nb.errors import (
    ArroyoError,
    CatalogProblem,
    DataProblem,
    PlanProblem,
    PromoteProblem,
    RunProblem,
    SyntaxProblem,
)
from arroyo_nb.jobs import SPEC, SUFFIXES
from arroyo_nb.jobs.runner.log import LOGS
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.registry import nearest_name
from arroyo_nb.run.options import BY_NAME, RunOptions
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.source import ScriptText

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

FINISHED, FAILED, USAGE, PLAN, DATA = 0, 1, 2, 3, 4
STOPPED = 128
"""And the number of the signal: 130 by SIGINT, 143 by SIGTERM or `arroyo-nb stop`."""

INTERRUPTED = STOPPED + signal.SIGINT
EXIT_CODES = """\
exit codes:
  0    finished; of check and diff: nothing found
  1    failed while it ran; of check, diff and status --ready: found, or not so
  2    wrong usage: an option, a command, or a file that cannot be read
  3    plan error: the script or the job cannot be run as it is written
  4    data error: a value that cannot be read, converted or written
  130  stopped by SIGINT (Ctrl-C); a job keeps its state and resumes from it
  141  nobody reads its output any more
  143  stopped by SIGTERM or 'arroyo-nb stop'; as by SIGINT, a job keeps its state
"""
SEE_CODES = "exit codes: arroyo-nb --help"
_PLAN_ERRORS = (SyntaxProblem, CatalogProblem, PlanProblem, PromoteProblem)
NOTEBOOK = ".ipynb"
LAST_PORT = 65535
STDIN, STDIN_NAME = "-", "<stdin>"

MODES, FORCE = tuple(mode.value for mode in StopMode), "force"
_MODES = (
    "checkpoint ends the micro-batch that runs, graceful reads all that has come by "
    "now, immediate waits for neither"
)

EXAMPLES = {
    "run": """\
  arroyo-nb run job.sql --state-dir state
  arroyo-nb run jobs/by_hour/job.yaml --port 8080 --log json
  arroyo-nb run job.yaml --fork""",
    "explain": "  arroyo-nb explain job.sql",
    "check": """\
  arroyo-nb check flights.ipynb -p least=60
  arroyo-nb check job.yaml --deny all""",
    "promote": "  arroyo-nb promote flights.ipynb --name by_hour --target kubernetes",
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
}

MEANT = {
    "start": "run", "resume": "run", "restart": "run", "submit": "run",
    "kill": "stop", "cancel": "stop", "ps": "jobs", "list": "jobs", "ls": "jobs",
    "tail": "logs", "plan": "explain", "lint": "check", "validate": "check",
    "deploy": "promote",
}  # fmt: skip
"""The command that is meant by a word that people try."""

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    try:
        try:
            return _main(sys.argv[1:] if argv is None else argv)
        finally:
            _flush()  # here and not when Python ends, which would tell of a closed pipe
    except BrokenPipeError:
        if not _drop_broken():
            raise
        return STOPPED + signal.SIGPIPE


def _main(argv: Sequence[str]) -> int:
    parser = _parser()
    _refuse_unknown_command(parser, argv)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse_unknown_words(arguments.command, unknown)
    try:
        _name_specs(arguments)
        _refuse_notebook(arguments)
        status: int = arguments.do(arguments)
    except ArroyoError as error:
        if isinstance(error.__cause__, BrokenPipeError) and _is_broken(sys.stdout):
            raise error.__cause__ from None  # who reads rows has enough of them
        headless.say_aside(str(error))
        return _exit_code(error)
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
    if arguments.do in (_promote, _check):
        return
    for name in ("file", "old", "new"):
        file = str(getattr(arguments, name, ""))
        if file.endswith(NOTEBOOK):
            raise UsageProblem(
                f"'{file}' is a notebook: this command takes a job.yaml or a script",
                hint=f"arroyo-nb promote {shlex.quote(file)} --name NAME makes a job "
                "of the cell of that run, and arroyo-nb check looks at all its cells",
            )


def _streams() -> Iterator[TextIO]:
    yield from filter(None, (sys.stdout, sys.stderr))


def _flush() -> None:
    for stream in _streams():
        try:
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError:
            if stream is not sys.stderr:
                raise
            _drop(stream)  # else Python would end with a status of its own


def _drop(stream: TextIO) -> None:
    """Have what is still to be written go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _drop_broken() -> bool:
    """Have what is still to be written to a pipe that nobody reads any more go nowhere;
    False: no output of ours is one."""
    broken = [stream for stream in _streams() if _is_broken(stream)]
    for stream in broken:
        _drop(stream)
    return bool(broken)


def _is_broken(stream: TextIO) -> bool:
    """Whether nobody reads a stream: what it has buffered cannot be written, or the
    system says so, as nothing may be left of what failed."""
    try:
        stream.flush()
        poll = select.poll()
        poll.register(stream.fileno(), 0)
    except BrokenPipeError:
        return True
    except (OSError, ValueError):  # it is no file
        return False
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


class UsageProblem(ArroyoError):
    """An option that the file has no use for, or a file that cannot be read."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a script as an interrupt does."""


def _exit_code(error: ArroyoError) -> int:
    """The worst that an error stands for."""
    for kinds, code in (
        (UsageProblem, USAGE),
        (_PLAN_ERRORS, PLAN),
        (DataProblem, DATA),
    ):
        if any(isinstance(problem, kinds) for problem in error.problems):
            return code
    return FAILED


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Terminated


def _parser() -> argparse.ArgumentParser:
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
    _add_run(commands)
    _script_command(commands, "explain", "print the plan of a script", _explain)
    _add_check(commands)
    _add_promote(commands)
    _add_diff(commands)
    _add_jobs(commands)
    _add_status(commands)
    _add_logs(commands)
    _add_stop(commands)
    _add_attach(commands)
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


def _add_run(commands: _Commands) -> None:
    text = "run a script; bare SELECTs print JSON lines"
    run = _script_command(commands, "run", text, _run)
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
        help=f"of a job: what SIGTERM does; {_MODES}",
    )
    _add_changed(run)
    run.add_argument(
        "--submitted",
        action="store_true",
        help="of a job: run on the Spark of the spark-submit that started this process",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"'{text}' is no port: 0 to {LAST_PORT}")
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


def _add_check(commands: _Commands) -> None:
    check = _script_command(
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
    promote = _command(commands, "promote", text, _promote)
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
    promote.add_argument(
        "--overwrite",
        action="store_true",
        help="write also files that were changed by hand since the last promotion",
    )
    _add_deny(promote)
    _add_parameters(promote)


def _add_diff(commands: _Commands) -> None:
    text = (
        "print how the plans of two jobs or scripts differ, and whether one goes on "
        "from the other's checkpoint: else the exit status is 1"
    )
    diff = _command(commands, "diff", text, _diff)
    diff.add_argument("old", metavar="OLD", help="a job.yaml or a script")
    diff.add_argument("new", metavar="NEW", help="the same, as it is now")


def _add_jobs(commands: _Commands) -> None:
    text = "list the jobs that run on this machine, and those at rest in a folder"
    jobs = _command(commands, "jobs", text, _jobs)
    jobs.add_argument("folder", metavar="DIR", nargs="?", default=".", type=Path)
    jobs.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_status(commands: _Commands) -> None:
    text = "print what a job does now: state, readiness, counts, lag"
    status = _command(commands, "status", text, _status)
    _add_place(status)
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


def _add_logs(commands: _Commands) -> None:
    text = "print the log of a job: its newest events, oldest first"
    logs = _command(commands, "logs", text, _logs)
    _add_place(logs)
    logs.add_argument("-n", type=int, default=100, metavar="N", help="how many")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    logs.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_place(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument("--state-dir", metavar="DIR", help="as it was run with")
    command.add_argument("--name", metavar="N", help="as it was run with")


def _add_stop(commands: _Commands) -> None:
    text = "stop a job that runs on this machine; it goes on where it stood"
    stop = _command(commands, "stop", text, _stop)
    _add_place(stop)
    killing = f"{_MODES}; force kills its processes"
    stop.add_argument("--mode", choices=(*MODES, FORCE), default=MODES[0], help=killing)


def _add_attach(commands: _Commands) -> None:
    text = "stop a job that runs, and tell what brings it into a notebook"
    attach = _command(commands, "attach", text, _attach)
    _add_job(attach)


def _add_job(command: argparse.ArgumentParser) -> None:
    said = "its job.yaml, or its name as jobs lists it"
    command.add_argument("file", metavar="JOB", help=said)


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


def _script_command(
    commands: _Commands,
    name: str,
    text: str,
    do: Callable[[argparse.Namespace], int],
    *,
    also: str = "",
) -> argparse.ArgumentParser:
    command = _command(commands, name, text, do)
    said = f"a script, job.yaml{also}; - reads a script from stdin"
    command.add_argument("file", metavar="FILE", help=said)
    strict = BY_NAME["strict"]
    command.add_argument(strict.flag, action="store_true", help=strict.doc)
    return command


def _command(
    commands: _Commands, name: str, text: str, do: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text
    )
    command.set_defaults(do=do, command=command)
    return command


def _read(file: str) -> ScriptText:
    try:
        read = sys.stdin.buffer.read if file == STDIN else Path(file).read_bytes
        text = read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageProblem(f"cannot read '{file}': {reason}") from error
    return ScriptText(text, STDIN_NAME if file == STDIN else file)


def _run(arguments: argparse.Namespace) -> int:
    with ExitStack() as narrowed:
        try:
            narrowed.enter_context(allowed_roots.narrowed(arguments.root))
        except RunProblem as error:
            raise UsageProblem(error.message, hint=error.hint) from None
        return _run_inside(arguments)


def _run_inside(arguments: argparse.Namespace) -> int:
    # A supervisor's stop is a stop with a final checkpoint, as an interrupt is.
    signal.signal(signal.SIGTERM, _terminate)
    file, script = arguments.file, _read(arguments.file)
    given = {name: getattr(arguments, name) for name in ("strict", "state_dir")}
    options = RunOptions.parse(given)
    if _is_spec(file):
        from arroyo_nb.jobs import spec_file

        launch = headless.JobLaunch(
            name=arguments.name,
            options=options,
            log=arguments.log,
            port=arguments.port,
            stop=StopMode(arguments.stop_mode),
            changed=arguments.changed,
            submitted=arguments.submitted,
        )
        ended = headless.run_job(spec_file.read(script), launch)
        is_stopped = ended.state is JobState.STOPPED and ended.signal is not None
        return STOPPED + ended.signal if is_stopped and ended.signal else FINISHED
    for option in filter(None, (arguments.changed, *_of_jobs(arguments))):
        raise UsageProblem(f"{option} needs a job.yaml: '{file}' is a script")
    named = None if file == STDIN else Path(file).stem
    headless.run_script(script, options, name=arguments.name or named)
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


def _planned(arguments: argparse.Namespace, script: ScriptText) -> Plan:
    from arroyo_nb.plan.planner import plan_script

    if _is_spec(arguments.file):
        from arroyo_nb.jobs import spec_file

        return spec_file.read(script).plan(strict=arguments.strict)
    return plan_script(
        script.text, Catalog(), strict=arguments.strict, name=script.name
    )


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
    from arroyo_nb.cli import job_commands

    return job_commands.attach(_spec(arguments.file), say=print)


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


def _diff(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    return job_commands.diff(arguments.old, arguments.new, say=print)


def _jobs(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    if not arguments.folder.is_dir():
        raise UsageProblem(f"'{arguments.folder}' is no folder")
    return job_status.jobs(arguments.folder, as_json=arguments.json, say=print)


def _folder(arguments: argparse.Namespace) -> Path:
    from arroyo_nb.cli import job_status

    state, name = arguments.state_dir, arguments.name
    if not state and not name and (folder := job_status.folder_of(arguments.file)):
        return folder
    spec = _spec(arguments.file)
    return job_status.run_folder(spec, Path(state) if state else None, name)


def _spec(file: str) -> Path:
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


def _status(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    return job_status.status(
        _folder(arguments), probe=arguments.probe, as_json=arguments.json, say=print
    )


def _logs(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_status

    return job_status.logs(
        _folder(arguments),
        lines=arguments.n,
        follow=arguments.follow,
        as_json=arguments.json,
        say=partial(print, flush=True),
    )


def _stop(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli import job_commands

    mode = None if arguments.mode == FORCE else StopMode(arguments.mode)
    folder = _folder(arguments)
    return job_commands.stop(folder, mode=mode, say=headless.say_aside)


def _is_spec(file: str) -> bool:
    return Path(file).suffix in SUFFIXES
