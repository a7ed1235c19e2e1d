"""What a terminal has in place of a notebook's cells: the commands of ``%arroyo``, and
rows as they come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from arroyo_nb import magic_options as flags
from arroyo_nb.cell_runs import CellRuns
from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.kafka.local.shared import shared_broker
from arroyo_nb.line_commands import LineCommands
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.recording import counted
from arroyo_nb.session import Session
from arroyo_nb.udf_commands import UdfCommands
from arroyo_nb.views.formatting import column, plain

if TYPE_CHECKING:
    from arroyo_nb.kafka.local import LocalBroker
    from arroyo_nb.run.observe.snapshot import Snapshot
    from arroyo_nb.run.run import Run

COMMANDS = (
    *("tables", "functions", "head", "topics", "peek", "record", "ps", "stop", "clear"),
    *("explain", "doctor"),
)
"""Commands of ``%arroyo`` that say what they have to say as text."""

POLL_S = 0.1
MOST_ROWS = 1_000
"""Rows of an output that are printed at a time; of more, the newest."""

CELL_CHARS = 60


class TerminalShell:
    """What the commands ask of IPython's shell, where there is none.

    Attributes
    ----------
    next_input
        The statement that the next prompt begins with.
    """

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.next_input = ""

    def set_next_input(self, text: str, replace: bool = False) -> None:  # noqa: ARG002
        """Offer a cell: here its SQL."""
        first, _, rest = text.partition("\n")
        self.next_input = rest if first.startswith("%%arroyo") else text


class TerminalCommands:
    """The commands of a terminal.

    Parameters
    ----------
    session
        What they work on. It asks the broker of ``arroyo-nb kafka start`` where no
        other is named.
    """

    def __init__(self, session: Session) -> None:
        self.shell = TerminalShell()
        use_shared_broker(session)
        self._udfs = UdfCommands(session, print)
        self._commands = _TerminalLines(
            self.shell,
            session,
            CellRuns(self.shell, session, cast(Any, None)),
            udfs=self._udfs,
            is_strict=lambda: session.strict,
        )

    def do(self, words: Sequence[str]) -> None:
        """Do what a line says.

        Raises
        ------
        SyntaxProblem
            When there is no such command, or it needs a notebook.
        ArroyoError
            When it cannot be done.
        """
        word = words[0]
        if word not in COMMANDS:
            known = ", ".join(COMMANDS)
            raise SyntaxProblem(
                f"'{word}' is a command of notebooks"
                if word in flags.COMMANDS
                else f"there is no command '{word}'",
                hint=did_you_mean(word, COMMANDS) or f"known here: {known}",
            )
        self._commands.do([*words])

    def close(self) -> None:
        """Listen to definitions no more."""
        self._udfs.close()


class _TerminalLines(LineCommands):
    """The commands, which cannot say that the next cell has something."""

    def _offer(self, place: str, statement: str) -> bool:
        super()._offer(place, statement)
        return False


def use_shared_broker(session: Session) -> None:
    """Have a session ask the broker of ``arroyo-nb kafka start``, if there is one."""
    session.broker = cast("LocalBroker | None", shared_broker())


class RowPrinter:
    """Prints the rows of a run as they come, each output with its column names.

    Parameters
    ----------
    run
        The run.
    out
        Takes a line.
    """

    def __init__(self, run: Run, out: Callable[[str], None] = print) -> None:
        self._run = run
        self._out = out
        self._printed = [0] * len(run.outputs)
        self._headed: tuple[int, tuple[int, ...]] | None = None

    def print_until_end(self) -> None:
        """Print until the run has ended.

        Raises
        ------
        ArroyoError
            When it failed.
        KeyboardInterrupt
            When it was interrupted; the run goes on.
        """
        while not self._run.wait_quietly(POLL_S):
            self.print_news()
        self.print_news()
        self._run.wait()
        self.print_sorted()

    def print_sorted(self) -> None:
        """Print the results that have an order: of a run that has ended."""
        for number, output in enumerate(self._run.outputs):
            if output.preview is not None and output.sink.order:
                self._print_sorted(number)

    def print_news(self) -> None:
        """Print what has come since."""
        for number, output in enumerate(self._run.outputs):
            if output.preview is None or output.sink.order:
                continue  # its rows are in its table, or sorted once all are there
            printed = self._printed[number]
            seen = self._run.snapshot(0, number).output_rows
            if seen <= printed:
                continue
            picture = self._run.snapshot(min(seen - printed, MOST_ROWS), number)
            if picture.output_rows > seen:  # since the look: it lacks as many
                picture = self._run.snapshot(MOST_ROWS, number)
            self._printed[number] = picture.output_rows
            news = picture.output_rows - printed
            rows = _newest(picture)[:news][::-1]
            if (left := news - len(rows)) > 0:
                self._out(f"... {counted(left, 'row')} not shown ...")
            self._print(number, _head(picture), rows)

    def _print_sorted(self, number: int) -> None:
        table = self._run.table(number)
        first = table.slice(0, MOST_ROWS)
        columns = [values.to_pylist() for values in first.columns]
        self._print(number, first.column_names, list(zip(*columns, strict=True)))
        if (left := table.num_rows - first.num_rows) > 0:
            self._out(f"... {counted(left, 'more row')} not shown ...")

    def _print(
        self, number: int, head: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        columns = [column([row[place] for row in rows]) for place in range(len(head))]
        cells = [
            ["NULL" if cell is None else plain(cell, CELL_CHARS) for cell in row]
            for row in zip(*columns, strict=True)
        ]
        widths = [max(map(len, each)) for each in zip(head, *cells, strict=True)]
        before = self._headed
        if before is None or before[0] != number or not _fit(widths, before[1]):
            if len(self._run.outputs) > 1:
                self._out(f"-- {self._run.outputs[number].sink.name}")
            self._out(_line(head, widths))
            self._out(_line(["-" * width for width in widths], widths))
            self._headed = before = number, tuple(widths)
        for row in cells:
            self._out(_line(row, before[1]))

    def summary(self, since_s: float) -> str:
        """What came out, in one line."""
        picture = self._run.snapshot(0)
        words = [f"{counted(picture.rows_in, 'row')} in", f"{picture.rows_out:,} out"]
        if picture.late_rows:
            words.append(f"{picture.late_rows:,} late")
        if dropped := sum(source.dropped_rows for source in picture.sources):
            words.append(f"{dropped:,} dropped")
        state = self._run.state.value
        return f"({state}: {', '.join(words)}; {time.monotonic() - since_s:.1f} s)"


def _newest(picture: Snapshot) -> Sequence[Sequence[Any]]:
    """The newest rows, or changes, newest first; a change has its row behind it."""
    if not picture.updating:
        return picture.rows
    return [
        (change.op, *(change.after or change.before or ()))
        for change in picture.changes
    ]


def _head(picture: Snapshot) -> Sequence[str]:
    return ("op", *picture.columns) if picture.updating else picture.columns


def _fit(widths: Sequence[int], columns: Sequence[int]) -> bool:
    return all(width <= column for width, column in zip(widths, columns, strict=True))


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(cell.ljust(width) for cell, width in pairs).rstrip()
