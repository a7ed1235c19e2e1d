"""``%%arroyo`` and ``%arroyo``: read the options, call the session, show the run.

A cell that streams returns at once with a live panel where a person looks at it, and
waits where nobody does (nbconvert, papermill, nbmake). Loading this module imports
neither a parser nor Spark nor a widget.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from IPython.core.extensions import ExtensionManager
from IPython.core.getipython import get_ipython
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_cell_magic,
    magics_class,
    no_var_expand,
)
from traitlets import Bool, Enum, Integer, Unicode

from arroyo_nb import magic_options as flags
from arroyo_nb import test_commands
from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.editor.connection import EditorConnection
from arroyo_nb.engine.paths import user_path
from arroyo_nb.engine.sigterm import close_at_sigterm
from arroyo_nb.errors import RunProblem, SyntaxProblem
from arroyo_nb.magic_options import CellLine
from arroyo_nb.notebook_variables import bind
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.interrupts import (
    LOOK_S,
    STOP_S,
    Interrupted,
    Interrupts,
    defer_interrupts,
    imported,
)
from arroyo_nb.run.option_values import duration
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.session import Session
from arroyo_nb.udf_commands import UdfCommands

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.catalog import Catalog
    from arroyo_nb.jobs.spec import Origin
    from arroyo_nb.kafka_commands import KafkaCommands
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.run.run import Run
    from arroyo_nb.views.live import Panel
    from arroyo_nb.views.notebook import NotebookStage

FIRST_CELL = ("arroyo_nb.plan.planner", "arroyo_nb.run.run")
"""What the first cell of a notebook imports, some hundred modules each."""

_WITH_STATE = "the run has stopped; its job goes on from where that was"

JUPYTER_FILE, VSCODE_FILE = "JPY_SESSION_NAME", "__vsc_ipynb_file__"
"""Where front ends tell a kernel the notebook's path: an environment variable of a
Jupyter server, a variable of VS Code."""


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _documented(text: str) -> Callable[[Callable[..., None]], Any]:
    """With the table of options as its docstring: ``%%arroyo?`` shows it."""

    def documented(magic: Callable[..., None]) -> Any:
        magic.__doc__ = text
        return magic

    return documented


@magics_class
class ArroyoMagics(Magics):
    """The magics of one kernel and the session behind them."""

    view = Enum(
        flags.VIEWS, None, allow_none=True, help="What a cell shows by default."
    ).tag(config=True)
    rows = Integer(20, min=1, max=1000, help="Newest rows a cell shows.").tag(
        config=True
    )
    speed = Unicode("max", help="Default of --speed.").tag(config=True)
    strict = Bool(False, help="Refuse what Arroyo would refuse.").tag(config=True)
    sinks = Bool(False, help="INSERTs write to their tables by default.").tag(
        config=True
    )
    budget = Unicode("1GB", help="Default of --budget.").tag(config=True)
    headless_for = Unicode(
        "60s",
        help="How long a cell nobody looks at runs what does not end by itself: an "
        "endless source, one that is played at a speed, or step by step.",
    ).tag(config=True)

    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell)
        self._shell = shell
        self.session = session
        self._names: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._cells: dict[str, int] = {}
        self._lines: dict[str, CellLine] = {}
        self._stage: NotebookStage | None = None
        # Statements that were put into a cell: who runs a cell again wants no other.
        self._offered: set[str] = set()
        self._kafka: KafkaCommands | None = None
        self._udfs = UdfCommands(session, _say)

    @no_var_expand
    @line_cell_magic("arroyo")
    @_documented(flags.help_text())
    def arroyo(self, line: str, cell: str | None = None) -> None:
        """The table of options, see :mod:`arroyo_nb.magic_options`."""
        if cell is None:
            self._line([*flags.split(line)])
        else:
            self._cell(flags.parse_line(line), cell)

    @no_var_expand
    @cell_magic("arroyo_udf")  # type: ignore[arg-type]
    def arroyo_udf(self, line: str, cell: str) -> None:
        """Define functions of SQL: ``%%arroyo_udf [python|rust]``.

        In Python several, each with @udf; in Rust one, as Arroyo takes it.
        """
        self._shell.user_ns.update(self._udfs.define(line, cell))

    @no_var_expand
    @cell_magic("arroyo_rows")
    @_documented(flags.rows_help_text())
    def arroyo_rows(self, line: str, cell: str) -> None:
        """The table of options, see :mod:`arroyo_nb.magic_options`."""
        name, options = flags.parse_rows_line(line)
        if options.pop("help", False):
            _say(flags.rows_help_text())
            return
        from arroyo_nb.rows_commands import define

        define(self.session, name, cell, options, self._shell.user_ns, _say)

    @no_var_expand
    @cell_magic("arroyo_test")
    @_documented(test_commands.help_text())
    def arroyo_test(self, line: str, cell: str) -> None:
        """How a test is written, see :mod:`arroyo_nb.test_commands`."""
        from arroyo_nb.views.notebook import is_interactive, publish

        show = publish if is_interactive(self._shell) else None
        variables = self._shell.user_ns
        test_commands.run_cell(self.session, line, cell, variables, _say, show)

    def close(self, *reason: str) -> None:
        """Listen to the shell no more, stop all runs and the broker."""
        self._udfs.close()
        if self._stage is not None:
            self._stage.close()
        if self in self._shell.configurables:
            self._shell.configurables.remove(self)
        try:
            self.session.close(*reason)
        finally:
            if self._kafka is not None:
                self._kafka.close()

    def _cell(self, line: CellLine, cell: str) -> None:
        if line.get("help"):
            _say(flags.help_text())
            return
        # The cell is parsed by us alone: IPython's own `{variable}` expansion (switched
        # off above) would eat the braces of JSON and of `{{ NAME }}`.
        sql = bind(cell, self._shell.user_ns)
        # Before the script is planned: a cell happens or it doesn't.
        options = self._options(line)
        if line.get("no_run"):
            self._check(sql, options)
            return
        before = self.session.catalog
        name = line.get("name") or self._name(sql)

        def start() -> Run | None:
            run = self._start(sql, name, options)
            self._leave(name, run)
            return run

        # A cell that only declares shows what it declared; one that runs shows its
        # panel.
        if not self._showing(line, name, start):
            from arroyo_nb.views.listing import changes

            asked, after = self.session.answers, self.session.catalog
            if after is not before or not asked:
                _say(changes(before, after))
        self._answer(before)

    def _answer(self, before: Catalog) -> None:
        """Show what the cell asked for, and who still uses what it dropped."""
        from arroyo_nb.views.listing import answer
        from arroyo_nb.views.notebook import publish

        for given in self.session.answers:
            publish(answer(given))
        for name, table in before.tables.items():
            users = self.session.users(table)
            if name not in self.session.catalog and users:
                runs = ", ".join(users)
                _say(f"{table.name} is still used by {runs}, which goes on")

    def _options(self, line: CellLine) -> RunOptions:
        """How a cell is run: as its first line says, else as the notebook does."""
        return line.run_options(
            keep=True,
            sinks=self.sinks,
            speed=self.speed,
            strict=self.strict,
            budget=self.budget,
        )

    def _check(self, sql: str, options: RunOptions) -> None:
        """Show the plan of what is not run, as its options make it."""
        plan = self.session.plan(sql, strict=options.strict)
        if options.ttl is not None:
            plan = plan.with_updating_ttl(options.ttl)
        _say(plan.explain())

    def _showing(
        self, line: CellLine, name: str, start: Callable[[], Run | None]
    ) -> bool:
        """Start a run and show it; an interrupt stops it. False: there is none."""
        try:
            with defer_interrupts() as interrupts:
                # An interrupt in the middle of an import would leave a module half
                # loaded for the rest of the kernel's life.
                imported(*FIRST_CELL, interrupts=interrupts)
                run = start()
                interrupts.check()
                if run is not None:
                    self._started(line, run, interrupts)
                return run is not None
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise self._interrupted(name) from None

    def _started(self, line: CellLine, run: Run, interrupts: Interrupts) -> None:
        # Kept for %arroyo resume and attach, which show the run as its cell did.
        self._lines[run.name] = line
        run.handle = f"arroyo_nb.active_session().get({run.name!r})"
        if (variable := line.get("variable")) is not None:
            self._shell.user_ns[variable] = run
            run.handle = variable
        if line.get("explain"):
            _say(run.explain())
        else:
            for hint in run.plan.hints:
                _say(hint)
        self._show(line, run, interrupts)

    def _start(self, sql: str, name: str, options: RunOptions) -> Run | None:
        old = self.session.runs.get(name)
        # Asked before: run_with() replaces the run of that name, and stops it.
        going = old is not None and not old.state.ended
        run = self.session.run_with(sql, options, name=name)
        if run is not None and going:
            _say(f"replaced {name}, which was still running: its cell was run again")
        return run

    def _leave(self, name: str, run: Run | None) -> None:
        """Stop what this cell ran before and runs no more: its panel is gone."""
        last = name
        if run is not None:
            self._cells[name] = getattr(self._shell, "execution_count", 0)
        # By the cell and not by the name: the user may have changed the name in the
        # cell, and what it ran before would go on unseen.
        if cell := self._cell_id():
            last, self._last[cell] = self._last.get(cell, name), name
        before = self.session.runs.get(last)
        if before is None or before is run or before.state.ended:
            return
        now = f"now runs {name}" if run is not None else "only declares now"
        before.stop(f"replaced: its cell {now}")
        _say(f"stopped {before.name}: this cell {now}")

    def _name(self, sql: str) -> str:
        """The name of the cell's own run: the same when the cell is run again."""
        # Where the front end sends no id (a script, a test), the same text is taken for
        # the same cell.
        key = self._cell_id() or hashlib.sha256(sql.encode()).hexdigest()
        return self._names.setdefault(key, f"query_{len(self._names) + 1}")

    def _cell_id(self) -> str:
        """The front end's id of the cell; empty where it has none."""
        request: Any = getattr(self._shell, "get_parent", dict)()
        return str(request.get("metadata", {}).get("cellId") or "")

    def _show(self, line: CellLine, run: Run, interrupts: Interrupts) -> None:
        from arroyo_nb.views import live
        from arroyo_nb.views.notebook import NotebookStage, is_interactive, publish
        from arroyo_nb.views.sections import needs_plan

        looked_at = is_interactive(self._shell)
        view = line.get("view", self.view)
        plan = run.explain() if needs_plan(view) else ""
        wish = live.PanelOptions(view, line.get("rows", self.rows), plan)
        panel: Panel | None = None
        if looked_at:
            self._stage = self._stage or NotebookStage(self._shell)
            panel = live.show(run, self._stage, wish)
        try:
            if line.get("wait", not looked_at):
                # A notebook that nobody looks at (nbconvert, papermill) must come to an
                # end.
                limit = None if looked_at else duration(self.headless_for)
                self._wait(run, limit, interrupts)
        finally:
            # Also after an interrupt or an error: what came so far stays in the
            # notebook.
            if panel is None:
                publish(live.static_bundle(run, wish))
            elif line.get("wait", False):
                panel.refresh()

    def _wait(self, run: Run, limit: timedelta | None, interrupts: Interrupts) -> None:
        try:
            while not run.wait(LOOK_S):
                interrupts.check()
                if limit is not None and _is_over(run, limit):
                    run.stop(
                        f"stopped after {limit.total_seconds():g} s, the limit of "
                        "headless runs; %config ArroyoMagics.headless_for = '10m' "
                        "raises it"
                    )
        except KeyboardInterrupt:
            raise self._interrupted(run.name) from None

    def _interrupted(self, name: str) -> Interrupted:
        """Stop a run in good order; a second interrupt gives that up."""
        run = self.session.runs.get(name)
        if run is None:
            return Interrupted("interrupted before anything was started")
        run.stop("stopped by interrupt")
        run.wait_quietly(STOP_S)
        rows = f"{run.snapshot(0).rows_kept:,} rows kept"
        if run.state.ended:
            return Interrupted(f"stopped by interrupt; {rows}")
        return Interrupted(f"stopping after an interrupt; {rows} so far")

    def _line(self, words: list[str]) -> None:
        word, *rest = words or ["ps"]
        if word in ("-h", "--help"):
            _say(flags.help_text())
            return
        if word not in flags.COMMANDS and word.upper() in flags.STATEMENTS:
            raise SyntaxProblem(
                f"'%arroyo {word}' is not a command",
                hint="SQL takes a cell of its own: write %%arroyo on its first line, "
                "and SQL from the second line on",
            )
        if word not in flags.COMMANDS:
            near = did_you_mean(word, flags.COMMANDS)
            raise SyntaxProblem(
                f"unknown command '%arroyo {word}'",
                hint=near or f"known: {', '.join(flags.COMMANDS)}",
            )
        given, options = flags.COMMANDS[word].parsed(rest)
        getattr(self, f"_do_{word}")(*given, **options)

    def _do_ps(self) -> None:
        from arroyo_nb.views.listing import runs
        from arroyo_nb.views.notebook import publish

        snapshots = [run.snapshot(0) for run in self.session.runs.values()]
        publish(runs(snapshots, self.session.background, self._cells))

    def _do_clear(self, word: str = "") -> None:
        before = self.session.catalog
        gone = self.session.clear(everything=word == flags.ALL)
        _say(f"cleared {', '.join(gone) or 'nothing'}")
        if before.names and not self.session.catalog.names:
            _say(f"dropped {', '.join(before.names)}")

    def _do_tables(self) -> None:
        from arroyo_nb.views.listing import tables
        from arroyo_nb.views.notebook import publish

        publish(tables(self.session.catalog))

    def _do_head(self, name: str, rows: int = 10) -> None:
        from arroyo_nb.views.listing import rows as listed
        from arroyo_nb.views.notebook import publish

        publish(listed(self.session.head(name, rows)))

    def _do_lookup(self, name: str, *keys: str) -> None:
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
        before = self.session.catalog
        self.session.lookup(name, variables[name], key=keys)
        _say(changes(before, self.session.catalog))

    def _do_explain(self, name: str) -> None:
        _say(self.session.get(name).explain())

    def _do_doctor(self, name: str | None = None) -> None:
        from arroyo_nb.doctor_commands import examine

        examine(self.session, name)

    def _do_check(self, word: str | None = None) -> None:
        from arroyo_nb.check_commands import check

        check(self.session, word, self._shell.user_ns, _say, strict=self.strict)

    def _do_speed(self, name: str, speed: str) -> None:
        run = self.session.get(name)
        run.set_speed(speed)
        _say(f"{name} plays at speed {run.speed}")

    def _do_resume(self, name: str) -> None:
        line = self._lines.get(name, CellLine())
        self._showing(line, name, partial(self.session.resume, name))

    def _do_show(self, name: str, **options: Any) -> None:
        from arroyo_nb.trace_commands import show
        from arroyo_nb.views.notebook import NotebookStage, is_interactive

        if looked_at := is_interactive(self._shell):
            self._stage = self._stage or NotebookStage(self._shell)
        show(self.session, name, self._stage if looked_at else None, **options)

    def _do_save(self, name: str, path: str) -> None:
        from arroyo_nb.trace_commands import save

        save(self.session, name, path, _say)

    def _do_whatif(self, name: str, **options: Any) -> None:
        from arroyo_nb.whatif_commands import whatif

        whatif(self.session, self._shell.user_ns, name, **options)

    def _do_compare(self, first: str, second: str) -> None:
        from arroyo_nb.whatif_commands import compare

        compare(self.session, first, second)

    def _do_promote(self, name: str, **options: Any) -> None:
        from arroyo_nb.views.notebook import publish
        from arroyo_nb.views.promoted import Found, promoted

        # It goes where the kernel is: that is where its links lead from.
        named = options.pop("folder", None) or self.session.job_folder(name)
        folder = user_path(named)
        origin = self._origin(name, folder)
        made = self.session.promote(name, folder, origin=origin, **options)
        found = [
            Found(f.rule.severity.value, f.rule.code, f.row, f.message, f.excerpt)
            for f in made.findings
        ]
        note = _WITH_STATE if options.get("with_state") else ""
        publish(promoted(folder, made.command, found, note, made.notes))

    def _do_attach(self, path: str) -> None:
        from arroyo_nb.jobs.spec_file import load

        name = load(user_path(path)).spec.name
        line = self._lines.get(name, CellLine())
        self._showing(line, name, partial(self.session.attach, path))

    def _do_jobs(self) -> None:
        from arroyo_nb.jobs.status import status
        from arroyo_nb.views.jobs import Row, jobs
        from arroyo_nb.views.notebook import publish

        publish(jobs(Row(*status(spec)) for spec in self.session.jobs.specs))

    def _offer(self, place: str, statement: str) -> bool:
        """Put a table of a topic, or of a feed's URL, into the next cell; False: there
        was one before, or it is declared. A second one that nobody runs would count in
        a job that is made of the notebook's file."""
        tables = self.session.catalog.tables.values()
        declared = (table for table in tables if isinstance(table, ConnectorTable))
        read = {
            table.spec.options.get(option)
            for table in declared
            for option in ("topic", "endpoint")
        }
        if place in self._offered or place in read:
            return False
        self._offered.add(place)
        self._shell.set_next_input(f"%%arroyo\n{statement}", replace=False)
        return True

    def _origin(self, name: str, folder: Path) -> Origin | None:
        """The notebook's file, where the front end tells it, and the run's cell."""
        from arroyo_nb.jobs.spec import Origin

        told = self._shell.user_ns.get(VSCODE_FILE) or os.environ.get(JUPYTER_FILE, "")
        if not told.endswith(".ipynb") or not Path(told).exists():
            return None
        cell = next((c for c, run in self._last.items() if run == name), name)
        return Origin(Path(os.path.relpath(told, folder)).as_posix(), cell)

    def _do_stop(self, name: str, mode: str = StopMode.IMMEDIATE.value) -> None:
        names = list(self.session.runs) if name == flags.ALL else [name]
        going = [r for r in map(self.session.get, names) if not r.state.ended]
        for run in going:
            run.stop("stopped by %arroyo stop", mode)
        deadline = time.monotonic() + STOP_S
        slow = [r for r in going if not r.wait_quietly(deadline - time.monotonic())]
        told = ", ".join(run.name for run in going if run not in slow)
        if told:
            _say(f"stopped {told}")
        elif not going:
            _say(self._why_nothing_stops(name))
        if slow:
            names = [run.name for run in slow]
            _say(f"stopping {', '.join(names)}: still at a micro-batch, or starting")

    def _why_nothing_stops(self, name: str) -> str:
        if name == flags.ALL:
            return "nothing runs"
        return f"'{name}' has ended already: {self.session.get(name).state.value}"

    def _do_functions(self, name: str | None = None) -> None:
        from arroyo_nb.views.notebook import publish

        if (listed := self._udfs.list(name)) is not None:
            publish(listed)

    def _do_kafka(self, word: str) -> None:
        self._kafka_commands().do(word)

    def _do_topics(self, servers: str = "") -> None:
        self._kafka_commands().topics(servers)

    def _do_peek(
        self, topic: str, servers: str = "", rows: int = 5, **options: str
    ) -> None:
        if "://" not in topic:
            for name in options:
                raise RunProblem(
                    f"--{name} is for a URL, and '{topic}' is a topic",
                    hint="a URL begins with what it is: nats://, mqtt://, https://",
                )
            if "/" in topic:
                raise RunProblem(
                    f"'{topic}' is no name of a topic",
                    hint="of a server write the whole URL, such as https://host/path; "
                    "of a file declare a table, and %arroyo head shows its first rows",
                )
            self._kafka_commands().peek(topic, servers, rows)
            return
        if servers:
            raise RunProblem(
                f"%arroyo peek takes a URL alone, and '{servers}' stands behind it"
            )
        from arroyo_nb.feed_commands import peek

        peek(topic, options, rows, self._offer)

    def _do_record(self, topic: str, servers: str = "", **options: Any) -> None:
        self._kafka_commands().record(topic, servers, **options)

    def _kafka_commands(self) -> KafkaCommands:
        from arroyo_nb.kafka_commands import KafkaCommands

        self._kafka = self._kafka or KafkaCommands(self.session, self._offer)
        return self._kafka


def _is_over(run: Run, limit: timedelta) -> bool:
    """Whether a run that may never end has taken its time, the engine's start left out.
    What only computes, as fast as it can, is waited for."""
    picture = run.snapshot(0)
    bounded = all(source.bounded for source in picture.sources)
    computes = bounded and run.options.speed == "max" and not picture.paused
    return not computes and run.running_s >= limit.total_seconds()


@dataclass(frozen=True)
class Loaded:
    """What a shell was given, to be taken away again."""

    magics: ArroyoMagics
    completes: Callable[..., Any]
    editor: EditorConnection
    forget_close: Callable[[], None]
    forget_cells: Callable[[], None]


_LOADED: dict[int, Loaded] = {}
"""By the id of a shell."""


def active_session() -> Session:
    """The session of this shell's cells.

    Raises
    ------
    RunProblem
        When it has none.
    """
    loaded = _LOADED.get(id(get_ipython()))
    if loaded is None:
        raise RunProblem(
            "there are no %%arroyo cells here, and so no session of theirs",
            hint="%load_ext arroyo_nb first, or make a Session",
        )
    return loaded.magics.session


ARROW_TABLE = "pyarrow.lib.Table"
"""Named, not imported: a notebook that shows none does not load PyArrow for it."""


def _arrow_page(table: pa.Table) -> str:
    from arroyo_nb.views.listing import arrow_page

    return arrow_page(table)


def load(shell: Any, session: Session | None = None) -> None:
    """Give a shell the magics, completion, and an engine that warms up.

    Parameters
    ----------
    shell
        IPython's shell; loading twice is harmless.
    session
        What the cells work on; None: a new one.
    """
    from arroyo_nb.editor import matcher
    from arroyo_nb.editor.kernel_requests import answer_for_cells

    if id(shell) in _LOADED:
        return
    session = session or Session(tell=_say)
    magics = ArroyoMagics(shell, session)
    editor = EditorConnection(session, lambda: magics.strict, shell.user_ns)
    editor.open(getattr(shell, "kernel", None))
    closes, answers = close_at_sigterm(magics.close), answer_for_cells(shell, session)
    loaded = Loaded(magics, matcher(session), editor, closes, answers)
    _LOADED[id(shell)] = loaded
    shell.register_magics(loaded.magics)
    shell.Completer.custom_matchers.append(loaded.completes)
    shell.input_transformers_cleanup.append(_with_body)
    # What run.late(), run.bad() and the others give, as the last line of a cell.
    pages = shell.display_formatter.formatters["text/html"]
    if ARROW_TABLE not in pages:
        pages.for_type_by_name(*ARROW_TABLE.rsplit(".", 1), _arrow_page)
    session.warm_up()


def unload(shell: Any) -> None:
    """Take away what :func:`load` gave; runs and the engine end. In a reload all of it
    stays, with the tables and the local broker."""
    if _is_reload():
        return
    loaded = _LOADED.pop(id(shell), None)
    if loaded is None:
        return
    loaded.editor.close()
    shell.Completer.custom_matchers.remove(loaded.completes)
    loaded.forget_cells()
    shell.input_transformers_cleanup.remove(_with_body)
    pages = shell.display_formatter.formatters["text/html"]
    # Another extension may have registered its own since, which stays.
    if ARROW_TABLE in pages and pages.lookup_by_type(ARROW_TABLE) is _arrow_page:
        pages.pop(ARROW_TABLE)
    for kind in ("line", "cell"):
        for name in ("arroyo", "arroyo_udf", "arroyo_rows", "arroyo_test"):
            shell.magics_manager.magics[kind].pop(name, None)
    try:
        loaded.magics.close()
    finally:
        loaded.forget_close()


def _is_reload() -> bool:
    """Whether ``%reload_ext`` asks: IPython does not say it, so the stack is read."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code is ExtensionManager.reload_extension.__code__:
            return True
        frame = frame.f_back
    return False


def _with_body(lines: list[str]) -> list[str]:
    """An empty body where there is none: IPython refuses such a cell unasked, and
    ``%%arroyo --help`` needs none."""
    alone = len(lines) == 1 and lines[0].startswith("%%arroyo")
    return [*lines, "\n"] if alone and not lines[0].rstrip().endswith("?") else lines
