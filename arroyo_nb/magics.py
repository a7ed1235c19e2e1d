"""``%%arroyo`` and its sisters: read the first line, call the session, show the run.

Loading this module imports neither a parser nor Spark nor a widget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
from arroyo_nb.cell_body import cell_body
from arroyo_nb.cell_runs import CellRuns, say
from arroyo_nb.line_commands import LineCommands
from arroyo_nb.magic_options import CellLine
from arroyo_nb.notebook_variables import bind
from arroyo_nb.option_flags import split
from arroyo_nb.session import Session
from arroyo_nb.udf_commands import UdfCommands

if TYPE_CHECKING:
    from arroyo_nb.catalog import Catalog
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.source import ScriptText


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
        self._udfs = UdfCommands(session, say)
        self._runs = CellRuns(shell, session, self)
        self._commands = LineCommands(
            shell,
            session,
            self._runs,
            udfs=self._udfs,
            is_strict=lambda: self.strict,
        )

    @no_var_expand
    @line_cell_magic("arroyo")
    @_documented(flags.help_text())
    def arroyo(self, line: str, cell: str | None = None) -> None:
        """The table of options, see :mod:`arroyo_nb.magic_options`."""
        if cell is None:
            self._commands.do([*split(line)])
        else:
            self._cell(flags.parse_line(line), cell)

    @no_var_expand
    @cell_magic("arroyo_udf")  # type: ignore[arg-type]
    def arroyo_udf(self, line: str, cell: str) -> None:
        """Define functions of SQL: ``%%arroyo_udf [python|rust]``.

        In Python several, each with @udf; in Rust one, as Arroyo takes it.
        """
        body = cell_body(self._shell, cell)
        self._shell.user_ns.update(self._udfs.define(line, body))

    @no_var_expand
    @cell_magic("arroyo_rows")
    @_documented(flags.rows_help_text())
    def arroyo_rows(self, line: str, cell: str) -> None:
        """The table of options, see :mod:`arroyo_nb.magic_options`."""
        name, options = flags.parse_rows_line(line)
        if options.pop("help", False):
            say(flags.rows_help_text())
            return
        from arroyo_nb.rows_commands import define

        body = cell_body(self._shell, cell)
        define(self.session, name, body, options, self._shell.user_ns, say)

    @no_var_expand
    @cell_magic("arroyo_test")
    @_documented(test_commands.help_text())
    def arroyo_test(self, line: str, cell: str) -> None:
        """How a test is written, see :mod:`arroyo_nb.test_commands`."""
        from arroyo_nb.views.notebook import is_interactive, publish

        show = publish if is_interactive(self._shell) else None
        body, variables = cell_body(self._shell, cell), self._shell.user_ns
        test_commands.run_cell(self.session, line, body, variables, say, show)

    def close(self, reason: str = "the extension was unloaded") -> None:
        """Listen to the shell no more, stop all runs and the broker; ``reason`` is what
        the runs then say."""
        self._udfs.close()
        self._runs.close()
        if self in self._shell.configurables:
            self._shell.configurables.remove(self)
        try:
            self.session.close(reason)
        finally:
            self._commands.close()

    def _cell(self, line: CellLine, cell: str) -> None:
        if line.get("help"):
            say(flags.help_text())
            return
        # The cell is parsed by us alone: IPython's own `{variable}` expansion (switched
        # off above) would eat the braces of JSON and of `{{ NAME }}`.
        typed = cell_body(self._shell, cell)
        sql = typed.with_text(bind(typed, self._shell.user_ns))
        # Before the script is planned: a cell happens or it doesn't.
        options = self._options(line)
        if line.get("no_run"):
            self._check(sql, options, explained=bool(line.get("explain")))
            return
        if (windows := line.get("compare")) is not None:
            from arroyo_nb.whatif_commands import compare_windows

            names = {key: line.get(key) for key in ("name", "variable")}
            space = self._shell.user_ns
            compare_windows(self.session, space, sql, windows, options, **names)
            return
        before = self.session.catalog
        # A cell that only declares shows what it declared; one that runs shows its
        # panel.
        if not self._runs.run_cell(line, sql, options):
            from arroyo_nb.views.listing import changes

            asked, after = self.session.answers, self.session.catalog
            if after is not before or not asked:
                say(changes(before, after))
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
                say(f"{table.name} is still used by {runs}, which goes on")

    def _options(self, line: CellLine) -> RunOptions:
        """How a cell is run: as its first line says, else as the notebook does."""
        return line.run_options(
            keep=True,
            sinks=self.sinks,
            speed=self.speed,
            strict=self.strict,
            budget=self.budget,
        )

    def _check(self, sql: ScriptText, options: RunOptions, *, explained: bool) -> None:
        """Show the notes on what is not run, or its plan, as its options make it."""
        plan = self.session.plan(sql, strict=options.strict)
        if options.ttl is not None:
            plan = plan.with_updating_ttl(options.ttl)
        say(plan.explain() if explained else plan.checked())
