"""``peek``, ``topics``, ``head`` and ``sql``: look at streams without a notebook, as
``%arroyo`` does in one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from arroyo_nb import magic_options as flags
from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.cli.arguments import (
    STDIN,
    Commands,
    add_command,
    add_script_command,
    is_spec,
    read_functions,
    read_script,
)
from arroyo_nb.cli.exit_codes import FINISHED, UsageProblem
from arroyo_nb.cli.kafka_command import servers as broker_servers
from arroyo_nb.connectors import Direction
from arroyo_nb.session import Session


def add_to(commands: Commands) -> None:
    """Add the commands, in the order of the help."""
    _add_sql(commands)
    peek = _add_line_command(commands, "peek")
    peek.add_argument("target", metavar="TOPIC|URL", help="what to look into")
    peek.add_argument("servers", metavar="HOST:PORT", nargs="?", default="",
                      help="of a topic: its broker, if it is not the one that "
                      "arroyo-nb kafka started")  # fmt: skip
    topics = _add_line_command(commands, "topics")
    topics.add_argument("target", metavar="HOST:PORT", nargs="?", default="",
                        help="a broker, if it is not the one that arroyo-nb kafka "
                        "started")  # fmt: skip
    _add_head(commands)


def _add_line_command(commands: Commands, name: str) -> argparse.ArgumentParser:
    """Add a command that a notebook has too, with its options."""
    line = flags.COMMANDS[name]
    command = add_command(commands, name, line.doc, _do_line)
    command.set_defaults(line=name)
    _add_flags(command, line)
    return command


def _add_flags(command: argparse.ArgumentParser, line: flags.Command) -> None:
    for flag in line.flags:
        # They are read by the command itself, so that both refuse the same.
        command.add_argument(
            *flag.names, dest=f"flag_{flag.key}", metavar=flag.value, help=flag.doc
        )


def _add_sql(commands: Commands) -> None:
    text = "type SQL and see its rows: a prompt with history and completion"
    sql = add_command(commands, "sql", text, _sql)
    sql.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="scripts or a job.yaml, whose tables and views are declared first; their "
        "queries are not run",
    )


def _add_head(commands: Commands) -> None:
    line = flags.COMMANDS["head"]
    head = add_script_command(commands, "head", f"{line.doc} of its script", _head)
    head.add_argument(
        "table",
        metavar="TABLE",
        nargs="?",
        default="",
        help="its name; not needed if the script has one source",
    )
    head.set_defaults(line="head")
    _add_flags(head, line)


def _sql(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli.headless import say_aside
    from arroyo_nb.cli.sql_prompt import HELP, SqlPrompt, reader_of, typed

    with _session() as session:
        for file in arguments.files:
            _declare(session, file)
        prompt = SqlPrompt(session)
        is_typed = sys.stdin.isatty() and sys.stdout.isatty()
        try:
            if is_typed:
                session.warm_up()
                say_aside(HELP)
            prompt.run(typed(session) if is_typed else reader_of(sys.stdin))
        finally:
            prompt.close()
        # Who types has seen what was wrong; a script that was piped in has failed.
        return FINISHED if is_typed else prompt.status


def _declare(session: Session, file: str) -> None:
    """Take over the tables, views and functions of a script or a job."""
    if is_spec(file):
        from arroyo_nb.jobs import spec_file

        job = spec_file.read(read_script(file))
        for udf in job.functions:
            session.define(udf)
        session.catalog = job.plan().catalog
    else:
        script = read_script(file)
        session.catalog = session.plan(script.text, source=script.name).catalog


def _head(arguments: argparse.Namespace) -> int:
    from arroyo_nb.file_commands import holds_rows, is_path

    file = arguments.file
    if file != STDIN and holds_rows(file):
        if arguments.table:
            raise UsageProblem(
                f"'{file}' is no script, so it has no table '{arguments.table}'",
                hint=f"arroyo-nb head {quote(file)} shows the first rows of the files",
            )
        with _session() as session:
            path = file if is_path(file) else f"./{file}"
            return _do(session, "head", [path, *_given_flags(arguments)])
    if file != STDIN and not Path(file).exists():
        hint = "arroyo-nb head takes a script or files"
        if "/" not in file:
            hint += f"; arroyo-nb peek {quote(file)} looks into a topic"
        raise UsageProblem(f"there is no file '{file}'", hint=hint)
    with _session() as session:
        for udf in read_functions(arguments).values():
            session.define(udf)
        _declare(session, file)
        name = arguments.table or _only_source(session, file)
        return _do(session, "head", [name, *_given_flags(arguments)])


def _only_source(session: Session, file: str) -> str:
    names = [
        table.name
        for table in session.catalog.tables.values()
        if isinstance(table, ConnectorTable) and table.direction is Direction.SOURCE
    ]
    if len(names) == 1:
        return names[0]
    raise UsageProblem(
        f"'{file}' has {len(names)} sources: say which",
        hint=f"arroyo-nb head {file} TABLE, where TABLE is one of: {', '.join(names)}"
        if names
        else "CREATE TABLE ... WITH (connector = '...', type = 'source') declares one",
    )


def _do_line(arguments: argparse.Namespace) -> int:
    from arroyo_nb.file_commands import is_path

    name, target = arguments.line, arguments.target
    if name == "topics":
        words = [target or broker_servers("arroyo-nb topics HOST:PORT")]
    elif arguments.servers:
        words = [target, arguments.servers]
    elif "/" in target or is_path(target):
        words = [target]
    else:
        words = [target, broker_servers("arroyo-nb peek TOPIC HOST:PORT")]
    with _session() as session:
        return _do(session, name, [*words, *_given_flags(arguments)])


def _do(session: Session, name: str, words: Sequence[str]) -> int:
    from arroyo_nb.cli.terminal import TerminalCommands

    commands = TerminalCommands(session)
    try:
        commands.do([name, *words])
    finally:
        commands.close()
    return FINISHED


def _given_flags(arguments: argparse.Namespace) -> Iterator[str]:
    for flag in flags.COMMANDS[arguments.line].flags:
        if (value := getattr(arguments, f"flag_{flag.key}", None)) is not None:
            yield from (flag.names[0], value)


def _session() -> Session:
    from arroyo_nb.cli.headless import say_aside

    return Session(tell=say_aside)
