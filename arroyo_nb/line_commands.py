"""What each command of ``%arroyo`` does; how it is written stands in
:mod:`arroyo_nb.magic_options`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb import magic_options as flags
from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.cell_runs import CellRuns, say
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem, SyntaxProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.interrupts import STOP_S
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.session import Session
from arroyo_nb.udf_commands import UdfCommands

if TYPE_CHECKING:
    from arroyo_nb.kafka_commands import KafkaCommands

_WITH_STATE = "the run has stopped; its job goes on from where that was"


def _method_hint(word: str, rest: Sequence[str]) -> str | None:
    """How Python asks a run for what is no command; None: a run has no such method."""
    from arroyo_nb.run.run import Run

    if word.startswith("_") or not callable(getattr(Run, word, None)):
        return None
    name = rest[0] if rest and rest[0].isidentifier() else "NAME"
    return f"ask the run itself, in a cell of Python: {name}.{word}()"


class LineCommands:
    """The commands of one shell.

    Parameters
    ----------
    shell
        IPython's shell.
    session
        What the commands work on.
    runs
        The runs of the shell's cells.
    udfs
        The shell's functions.
    is_strict
        Whether what Arroyo would refuse is refused.
    """

    def __init__(
        self,
        shell: Any,
        session: Session,
        runs: CellRuns,
        *,
        udfs: UdfCommands,
        is_strict: Callable[[], bool],
    ) -> None:
        self._shell = shell
        self._session = session
        self._runs = runs
        self._udfs = udfs
        self._is_strict = is_strict
        # Statements that were put into a cell: who runs a cell again wants no other.
        self._offered: set[str] = set()
        self._kafka: KafkaCommands | None = None
        self.by_word: Mapping[str, Callable[..., None]] = {
            "ps": self._ps,
            "clear": self._clear,
            "tables": self._tables,
            "functions": self._functions,
            "head": self._head,
            "lookup": self._lookup,
            "explain": self._explain,
            "doctor": self._doctor,
            "check": self._check,
            "resume": self._resume,
            "speed": self._speed,
            "show": self._show,
            "save": self._save,
            "whatif": self._whatif,
            "compare": self._compare,
            "promote": self._promote,
            "attach": self._attach,
            "jobs": self._jobs,
            "stop": self._stop,
            "kafka": self._broker,
            "topics": self._topics,
            "peek": self._peek,
            "record": self._record,
        }
        """What is called for each command, with its words and its options."""

    def do(self, words: list[str]) -> None:
        """Do what a line says; an empty one lists what lives.

        Raises
        ------
        SyntaxProblem
            When there is no such command.
        ArroyoError
            When its words do not fit, or it cannot be done.
        """
        word, *rest = words or ["ps"]
        if word in ("-h", "--help"):
            say(flags.help_text())
            return
        if word not in flags.COMMANDS and word.upper() in flags.STATEMENTS:
            raise SyntaxProblem(
                f"'%arroyo {word}' is not a command",
                hint="SQL takes a cell of its own: write %%arroyo on its first line, "
                "and SQL from the second line on",
            )
        if word not in flags.COMMANDS:
            raise SyntaxProblem(
                f"unknown command '%arroyo {word}'",
                hint=_method_hint(word, rest)
                or did_you_mean(word, flags.COMMANDS)
                or f"known: {', '.join(flags.COMMANDS)}",
            )
        given, options = flags.COMMANDS[word].parsed(rest)
        self.by_word[word](*given, **options)

    def close(self) -> None:
        """End the local broker."""
        if self._kafka is not None:
            self._kafka.close()

    def _ps(self) -> None:
        from arroyo_nb.views.listing import runs
        from arroyo_nb.views.notebook import publish

        snapshots = [run.snapshot(0) for run in self._session.runs.values()]
        publish(runs(snapshots, self._session.background, self._runs.counts))

    def _clear(self, word: str = "") -> None:
        before = self._session.catalog
        gone = self._session.clear(everything=word == flags.ALL)
        say(f"cleared {', '.join(gone) or 'nothing'}")
        if before.names and not self._session.catalog.names:
            say(f"dropped {', '.join(before.names)}")

    def _tables(self) -> None:
        from arroyo_nb.views.listing import tables
        from arroyo_nb.views.notebook import publish

        publish(tables(self._session.catalog))

    def _head(self, name: str, rows: int = 10) -> None:
        from arroyo_nb.catalog import ConnectorTable
        from arroyo_nb.file_commands import is_path
        from arroyo_nb.run.table_head import head, head_notes
        from arroyo_nb.views.listing import rows as listed
        from arroyo_nb.views.notebook import publish

        if name not in self._session.catalog and is_path(name):
            self._peek_files(name, rows)
            return
        table = self._session.catalog.get(name)
        found = head(self._session.engine, table, rows)
        publish(listed(found.shown))
        if isinstance(table, ConnectorTable):
            for note in head_notes(table, found):
                say(f"{name}: {note}")

    def _peek_files(
        self, path: str, rows: int, offer: Callable[[str, str], bool] | None = None
    ) -> None:
        from arroyo_nb.file_commands import peek

        peek(self._session, path, rows, offer)

    def _lookup(self, name: str, *keys: str) -> None:
        from arroyo_nb.frames import gives_rows
        from arroyo_nb.views.listing import changes

        variables = self._shell.user_ns
        if name not in variables:
            # Not what IPython has in there itself: its functions, its history.
            frames = [n for n, value in variables.items() if gives_rows(value)]
            raise RunProblem(
                f"there is no variable '{name}'",
                hint=did_you_mean(name, frames)
                or f"assign the DataFrame to {name} in a cell before this one",
            )
        before = self._session.catalog
        self._session.lookup(name, variables[name], key=keys)
        say(changes(before, self._session.catalog))

    def _explain(self, name: str) -> None:
        say(self._session.get(name).explain())

    def _doctor(self, name: str | None = None) -> None:
        from arroyo_nb.doctor_commands import examine

        examine(self._session, name)

    def _check(self, word: str | None = None) -> None:
        from arroyo_nb.check_commands import check

        check(self._session, word, self._shell.user_ns, say, strict=self._is_strict())

    def _speed(self, name: str, speed: str) -> None:
        run = self._session.get(name)
        run.set_speed(speed)
        say(f"{name} plays at speed {run.speed}")

    def _resume(self, name: str) -> None:
        self._runs.show_again(name, partial(self._session.resume, name))

    def _show(self, name: str, **options: Any) -> None:
        from arroyo_nb.trace_commands import show

        show(self._session, name, self._runs.stage(), **options)

    def _save(self, name: str, path: str, title: str = "", text: str = "") -> None:
        from arroyo_nb.trace_commands import save

        # The text may be that of a variable: a paragraph is long for a line.
        text = str(self._shell.user_ns.get(text, text))
        save(self._session, name, path, say, title=title, text=text)

    def _whatif(self, name: str, **options: Any) -> None:
        from arroyo_nb.whatif_commands import whatif

        whatif(self._session, self._shell.user_ns, name, **options)

    def _compare(self, first: str, second: str) -> None:
        from arroyo_nb.whatif_commands import compare

        compare(self._session, first, second)

    def _promote(self, name: str, **options: Any) -> None:
        from arroyo_nb.views.notebook import publish
        from arroyo_nb.views.promoted import Found, promoted

        # It goes where the kernel is: that is where its links lead from.
        named = options.pop("folder", None) or self._session.job_folder(name)
        folder = user_path(named)
        origin = self._runs.origin(name, folder)
        made = self._session.promote(name, folder, origin=origin, **options)
        found = [
            Found(f.rule.severity.value, f.rule.code, f.row, f.message, f.excerpt)
            for f in made.findings
        ]
        note = _WITH_STATE if options.get("with_state") else ""
        publish(promoted(folder, made.command, found, note, made.notes))

    def _attach(self, path: str) -> None:
        from arroyo_nb.jobs.spec_file import load

        name = load(user_path(path)).spec.name
        self._runs.show_again(name, partial(self._session.attach, path))

    def _jobs(self) -> None:
        from arroyo_nb.jobs.status import status
        from arroyo_nb.views.jobs import Row, jobs
        from arroyo_nb.views.notebook import publish

        publish(jobs(Row(*status(spec)) for spec in self._session.jobs.specs))

    def _offer(self, place: str, statement: str) -> bool:
        """Put a table of a topic, a path or a feed's URL into the next cell; False:
        there was one before, or it is declared. A second one that nobody runs would
        count in a job that is made of the notebook's file."""
        tables = self._session.catalog.tables.values()
        declared = (table for table in tables if isinstance(table, ConnectorTable))
        read = {
            table.spec.options.get(option)
            for table in declared
            for option in ("topic", "endpoint", "path")
        }
        if place in self._offered or place in read:
            return False
        self._offered.add(place)
        self._shell.set_next_input(f"%%arroyo\n{statement}", replace=False)
        return True

    def _stop(self, name: str, mode: str = StopMode.IMMEDIATE.value) -> None:
        names = list(self._session.runs) if name == flags.ALL else [name]
        going = [r for r in map(self._session.get, names) if not r.state.ended]
        for run in going:
            run.stop("stopped by %arroyo stop", mode)
        deadline = time.monotonic() + STOP_S
        slow = [r for r in going if not r.wait_quietly(deadline - time.monotonic())]
        told = ", ".join(run.name for run in going if run not in slow)
        if told:
            say(f"stopped {told}")
        elif not going:
            say(self._why_nothing_stops(name))
        if slow:
            names = [run.name for run in slow]
            say(f"stopping {', '.join(names)}: still at a micro-batch, or starting")

    def _why_nothing_stops(self, name: str) -> str:
        if name == flags.ALL:
            return "nothing runs"
        return f"'{name}' has ended already: {self._session.get(name).state.value}"

    def _functions(self, name: str | None = None) -> None:
        from arroyo_nb.views.notebook import publish

        if (listed := self._udfs.list(name)) is not None:
            publish(listed)

    def _broker(self, word: str) -> None:
        self._kafka_commands().do(word)

    def _topics(self, servers: str = "") -> None:
        self._kafka_commands().topics(servers)

    def _peek(
        self, topic: str, servers: str = "", rows: int = 5, **options: str
    ) -> None:
        from arroyo_nb.file_commands import is_path

        if "://" not in topic:
            for name in options:
                raise RunProblem(
                    f"--{name} is for a URL, and '{topic}' is a topic",
                    hint="a URL begins with what it is: nats://, mqtt://, https://",
                )
            if is_path(topic):
                if servers:
                    raise RunProblem(
                        f"%arroyo peek takes a path alone, and '{servers}' stands "
                        "behind it"
                    )
                self._peek_files(topic, rows, self._offer)
                return
            if "/" in topic:
                raise RunProblem(
                    f"'{topic}' is no name of a topic, and no file of this machine",
                    hint="of a server write the whole URL, such as https://host/path",
                )
            self._kafka_commands().peek(topic, servers, rows)
            return
        if servers:
            raise RunProblem(
                f"%arroyo peek takes a URL alone, and '{servers}' stands behind it"
            )
        from arroyo_nb.feed_commands import peek

        peek(topic, options, rows, self._offer)

    def _record(self, topic: str, servers: str = "", **options: Any) -> None:
        self._kafka_commands().record(topic, servers, **options)

    def _kafka_commands(self) -> KafkaCommands:
        from arroyo_nb.kafka_commands import KafkaCommands

        self._kafka = self._kafka or KafkaCommands(self._session, self._offer)
        return self._kafka
