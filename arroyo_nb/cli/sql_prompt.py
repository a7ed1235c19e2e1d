"""``arroyo-nb sql``: type SQL, see rows; with history and completion.

A statement ends with ``;``. Its rows are printed as they come; Ctrl-C stops the query
and not the prompt. Declarations stay for the statements that follow.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from arroyo_nb.cli import kafka_command
from arroyo_nb.cli.exit_codes import exit_code
from arroyo_nb.cli.headless import say_aside
from arroyo_nb.cli.terminal import (
    COMMANDS,
    RowPrinter,
    TerminalCommands,
    use_shared_broker,
)
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.errors import ArroyoError
from arroyo_nb.option_flags import split
from arroyo_nb.run.options import RunOptions
from arroyo_nb.session import Session

if TYPE_CHECKING:
    from arroyo_nb.run.run import Run

PROMPT, MORE = "sql> ", "...> "
QUIT = ("quit", "exit")
STOP_S = 10.0
"""How long a query that was interrupted may take to end."""

HELP = f"""\
SQL            ends with ;   INSERTs write to their tables, SELECTs print rows
Ctrl-C         stops the query that runs
%COMMAND       as %arroyo in a notebook: {", ".join(COMMANDS)}
%kafka start   starts a broker on this machine, %kafka stop ends it
%help, %quit   (or Ctrl-D)"""

Read = Callable[[str], str]
"""Asks for a statement, which begins with a text; raises EOFError at the end, and
KeyboardInterrupt where what was typed is to be forgotten."""


class SqlPrompt:
    """The loop of a prompt.

    Parameters
    ----------
    session
        What it works on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._commands = TerminalCommands(session)
        self.status = 0

    def run(self, read: Read) -> None:
        """Read statements and do them, until there are no more."""
        shell = self._commands.shell
        while True:
            offered, shell.next_input = shell.next_input, ""
            try:
                text = read(offered).strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                continue
            if text.rstrip(";").strip().lstrip("%\\.").lower() in QUIT:
                return
            if not _says_nothing(text):
                self.do(text)

    def do(self, text: str) -> None:
        """Do a statement or a command; what is wrong is told and kept as
        :attr:`status`."""
        try:
            if text.startswith("%"):
                self._command(text)
            else:
                self._script(text)
        except ArroyoError as error:
            sys.stdout.flush()
            say_aside(str(error))
            self.status = exit_code(error)
        except KeyboardInterrupt:
            say_aside("interrupted")

    def close(self) -> None:
        """Forget the commands; the session is the caller's."""
        self._commands.close()

    def _command(self, text: str) -> None:
        line = text.rstrip("; \t").removeprefix("%arroyo ")  # as in a notebook
        words = [str(word) for word in split(line.removeprefix("%"))]
        if not words or words[0] == "help":
            print(HELP)
        elif words[0] == kafka_command.NAME:
            print(kafka_command.broker(" ".join(words[1:]) or "status"))
            use_shared_broker(self._session)
        else:
            self._commands.do(words)

    def _script(self, text: str) -> None:
        from arroyo_nb.views.listing import answer, changes

        session, begun_s = self._session, time.monotonic()
        before = session.catalog
        given = {"sinks": True, "traced": False, "strict": session.strict}
        run = session.run_with(text, RunOptions.parse(given), source="<sql>")
        for answered in session.answers:
            print(answer(answered)["text/plain"])
        if run is None:
            if session.catalog.tables != before.tables or not session.answers:
                print(changes(before, session.catalog))
            return
        printer = RowPrinter(run)
        for hint in run.plan.hints:
            say_aside(f"note: {hint}")
        try:
            printer.print_until_end()
        except KeyboardInterrupt:
            self._stop(run)
            printer.print_news()
            printer.print_sorted()
        say_aside(printer.summary(begun_s))

    def _stop(self, run: Run) -> None:
        run.stop("stopped by Ctrl-C")
        if not run.wait_quietly(STOP_S):
            say_aside(f"'{run.name}' is still at a micro-batch: %stop {run.name}")


def statements(lines: TextIO) -> Iterator[str]:
    """The statements and commands of a text, one at a time."""
    text = ""
    for line in lines:
        if not text.strip() and line.lstrip().startswith("%"):
            yield line.strip()
            continue
        text += line
        if is_whole(text):
            yield text
            text = ""
    if text.strip():
        yield text


def is_whole(text: str) -> bool:
    """Whether what is typed can be done: a command, or SQL up to its semicolon.

    >>> is_whole("SELECT 1;"), is_whole("SELECT 1"), is_whole("SELECT ';")
    (True, False, False)
    """
    from arroyo_nb.editor.completion import NOT_CODE

    text = text.strip()
    is_ended = NOT_CODE.sub(" ", text).rstrip().endswith(";")
    return not text or text.startswith("%") or is_ended


def _says_nothing(text: str) -> bool:
    """Whether a text has neither SQL nor a command: comments alone."""
    from arroyo_nb.editor.completion import without_comments

    return not without_comments(text).replace(";", " ").strip()


def reader_of(lines: TextIO) -> Read:
    """Reads what nobody types."""
    found = statements(lines)

    def read(_offered: str) -> str:
        for statement in found:
            return statement
        raise EOFError

    return read


def typed(session: Session) -> Read:
    """Asks a person, with history and completion."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import ThreadedCompleter
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()
    history: Any = InMemoryHistory()
    with suppress(OSError, ArroyoError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "sql_history"
        path.touch(mode=0o600)
        history = FileHistory(str(path))
    prompt: PromptSession[str] = PromptSession(
        history=history,
        auto_suggest=AutoSuggestFromHistory(),
        completer=ThreadedCompleter(sql_completer(session)),
        complete_while_typing=False,  # Tab asks for it
        multiline=True,
        prompt_continuation=MORE,
        key_bindings=keys,
    )
    whole = Condition(lambda: is_whole(prompt.default_buffer.document.text))

    @keys.add("enter", filter=whole)
    def _enter(event: Any) -> None:
        event.current_buffer.validate_and_handle()

    return lambda offered: prompt.prompt(PROMPT, default=offered)


def sql_completer(session: Session) -> Any:
    """The completion of a notebook's cells, for prompt_toolkit."""
    from prompt_toolkit.completion import Completer, Completion

    class SqlCompleter(Completer):
        """Completes SQL, and commands behind a percent sign."""

        def get_completions(self, document: Any, _event: Any) -> Iterator[Completion]:
            """What fits at the cursor."""
            found = completions(session, document.text, document.cursor_position)
            for text, word, kind in found:
                yield Completion(text, -len(word), display_meta=kind)

    return SqlCompleter()


def completions(session: Session, text: str, at: int) -> Iterator[tuple[str, str, str]]:
    """What fits at a place of what is typed: a text, the begin of it that stands there
    already, and what kind of thing it is."""
    from IPython.core.completer import CompletionContext

    from arroyo_nb.editor.completion import complete

    if text.startswith("%"):
        before = text[:at].removeprefix("%").removeprefix("arroyo ")
        if " " not in before:
            words = (*COMMANDS, kafka_command.NAME, "help", "quit")
            yield from ((w, before, "command") for w in words if w.startswith(before))
            return
        cell, at = f"%arroyo {before}", len(f"%arroyo {before}")
    else:
        head = "%%arroyo\n"
        cell, at = head + text, len(head) + at
    line = cell.count("\n", 0, at)
    place = at - (cell.rfind("\n", 0, at) + 1)
    context = CompletionContext("", cell, place, line, None)
    found = complete(session, context)
    word = str(found.get("matched_fragment") or "")
    for item in found["completions"]:
        yield item.text, word, item.type or ""
