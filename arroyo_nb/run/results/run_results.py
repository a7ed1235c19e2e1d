"""The results of a run in every form that somebody may want them in: of one that goes
on or has ended, and of one whose trace was loaded."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.run.results.hand_out import BARE, GivenRows, HandOut

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.observe.findings import Report
    from arroyo_nb.run.observe.moments import Moments
    from arroyo_nb.run.results.preview import Preview

T = TypeVar("T")


class RunViews(Protocol):
    """How a run is shown: views are above runs, and are handed in."""

    def text(self, snapshot: Snapshot) -> str:
        """The newest rows and the counts, as text."""

    def html(self, snapshot: Snapshot) -> str:
        """The same as HTML."""

    def plot(self, run: Any, **options: Any) -> Any:
        """A chart of the rows."""

    def save_html(
        self,
        run: Any,
        path: str | Path,
        tell: Callable[[str], object] | None = None,
        hand_out: HandOut = BARE,
    ) -> Path:
        """A page that moves over the micro-batches."""

    def doctor(self, run: Any, engine: Engine) -> Report:
        """Why it gives no rows."""

    def telling(self) -> AbstractContextManager[Callable[[str], None] | None]:
        """What is told again and again how far something is that takes long."""


class RunResults(ABC):
    """What the outputs of a run have given."""

    _views: RunViews | None = None
    sql: str
    """The script."""

    @abstractmethod
    def moments(self, output: int = 0) -> Moments:
        """The recorded micro-batches of an output, each as a snapshot for views."""

    @abstractmethod
    def snapshot(self, rows: int = ..., output: int = ...) -> Snapshot:
        """One picture of an output for a view."""

    @abstractmethod
    def _kept_preview(self, output: int) -> Preview:
        """The rows of an output.

        Raises
        ------
        RunProblem
            When none were kept.
        """

    def table(self, output: int = 0) -> pa.Table:
        """The result rows of an output, oldest first, as an Arrow table.

        They are all rows that the run has produced, up to its budget: a warning says
        how many are missing. Rows on the disk are mapped, not read: what nobody looks
        at takes no memory.

        Raises
        ------
        ArroyoError
            When the run has failed, the first time it is touched after.
        RunProblem
            When the output's rows went to its sink and none were kept.
        """
        preview = self._kept_preview(output)
        _warn_of_missing(preview)
        return preview.table()

    def changelog(self, output: int = 0) -> pa.Table:
        """The changes of an output, oldest first: op, batch, before, after. A warning
        says how many are missing above the run's budget."""
        preview = self._kept_preview(output)
        _warn_of_missing(preview)
        return preview.changelog()

    def at(
        self,
        *,
        batch: int | None = None,
        watermark: datetime | str | None = None,
        output: int = 0,
    ) -> pa.Table:
        """The result rows of an output as they were after an earlier micro-batch.

        Parameters
        ----------
        batch
            Its number, from 0, as :meth:`changelog` has it.
        watermark
            Or the first batch whose watermark had reached this time, UTC.
        output
            Which output.

        Raises
        ------
        RunProblem
            When there was no such batch, the watermark has not come so far, or not all
            rows are kept that the result was made of.

        Examples
        --------
        ::

            run.at(batch=3)
            run.at(watermark="2013-02-08 12:00")
        """
        preview = self._kept_preview(output)
        moments = self.moments(output)
        return preview.table_at(moments.find(batch, watermark).batch_id)

    def save_html(
        self,
        path: str | Path,
        *,
        title: str = "",
        text: str = "",
        tell: Callable[[str], object] | None = None,
    ) -> Path:
        """Save the run as one page that moves over its micro-batches in any browser,
        without a kernel and without a network. A long run takes some seconds; an
        interrupt ends it, and nothing is written. Around the panel the page has the
        script, and the first rows of the tables that have an end.

        Parameters
        ----------
        path
            The file.
        title, text
            Stand above the panel, for a hand-out; a blank line ends a paragraph.
        tell
            Is told now and then how far it is; None: nobody is.

        Raises
        ------
        RunProblem
            When the path may not be written.
        """
        if self._views is None:
            raise RunProblem("only a run of a session can be drawn")
        hand_out = HandOut(title, text, self.sql, self._given_rows())
        return self._views.save_html(self, path, tell, hand_out)

    def _given_rows(self) -> tuple[GivenRows, ...]:
        """The first rows of the tables that are read; none where they are gone."""
        return ()

    def idle(self, output: int = 0) -> pa.Table:
        """When the sources of an output were idle: the micro-batch that found a source
        idle, and the one in which it came back. The newest 1,000 are kept.

        Examples
        --------
        ::

            run.idle().to_pandas()
        """
        from arroyo_nb.run.observe.idle_table import idle_table

        return idle_table(self.snapshot(0, output).idle_periods)

    def batches(self, output: int = 0) -> pa.RecordBatchReader:
        """The rows of an output, oldest first, one Arrow record batch after the other:
        however many there are, one is in memory.

        Of an updating output they are its changes: op, batch, before, after.

        Examples
        --------
        ::

            for batch in run.batches():
                print(batch.num_rows)
        """
        preview = self._kept_preview(output)
        _warn_of_missing(preview)
        return preview.batches()

    def events(self, cls: type[T], output: int = 0) -> Iterator[T]:
        """The result rows as objects of a class of events, oldest first.

        Parameters
        ----------
        cls
            A dataclass, a model of pydantic, or a class that protoc made: see
            :func:`arroyo_nb.events.event`. Columns that it has no attribute for are
            left out.
        output
            Which output.

        Raises
        ------
        DataProblem
            When a column is missing, or a value is not of its attribute's type.

        Examples
        --------
        ::

            for flight in run.events(Flight):
                print(flight.origin)
        """
        from arroyo_nb.events import objects

        return objects(cls, self.table(output))

    def to_pandas(self, output: int = 0) -> pd.DataFrame:
        """The result rows as a DataFrame of pandas.

        Each field of a struct is a column of its own, as ``window.start`` and
        ``window.end``: a dict, which pandas has for a struct, cannot be grouped by.
        Whole numbers beside NULLs are floats, as pandas has them, but where a float
        would be another number: such a column is ``Int64``.
        """
        return exact_frame(without_structs(self.table(output)))

    def to_polars(self, output: int = 0) -> Any:
        """The result rows as a DataFrame of Polars.

        Raises
        ------
        RunProblem
            When Polars is not installed.
        """
        polars = _library("polars")
        return polars.from_arrow(self.table(output))

    def to_duckdb(self, output: int = 0, connection: Any = None) -> Any:
        """The result rows as a relation of DuckDB, to be queried further.

        Parameters
        ----------
        output
            Which output.
        connection
            Of DuckDB; None: its default one.

        Raises
        ------
        RunProblem
            When DuckDB is not installed.

        Examples
        --------
        ::

            run.to_duckdb().filter("n > 10").order("n DESC")
        """
        duckdb = _library("duckdb")
        return (connection or duckdb).from_arrow(self.table(output))

    def plot(
        self,
        kind: str = "rows",
        *,
        x: str | None = None,
        y: str | None = None,
        color: str | None = None,
        theme: str | None = None,
    ) -> Any:
        """A chart of what the run has captured, made with Altair.

        Parameters
        ----------
        kind
            ``rows``: the newest result rows. ``windows``: rows by window, late ones
            marked. ``arrivals``: event time against processing time. ``watermark``: it
            and the newest event of each source. ``lateness``: how late rows came, and
            which delay would keep them. ``keys``: each key's history.
        x, y, color
            Columns of a chart of ``rows``: across (else the window, a time or a text),
            up (else the first number), of the colours (else the first text with few
            values). Of ``keys``: ``y``, and ``color``, the column that names a key.
            A text with many values has a line for each of them.
        theme
            ``"dark"`` or ``"light"``: the ground of the chart; None: altair's own.

        Raises
        ------
        RunProblem
            When there is nothing to draw, or no such kind, column or theme.
        """
        if self._views is None:
            raise RunProblem("only a run of a session can be drawn")
        return self._views.plot(self, kind=kind, x=x, y=y, color=color, theme=theme)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result rows of the first output, by the Arrow PyCapsule interface; of an
        output that only appends they are streamed."""
        preview = self._kept_preview(0)
        _warn_of_missing(preview)
        sorts = preview.is_updating or preview.order
        rows = preview.table() if sorts else preview.batches()
        return rows.__arrow_c_stream__(requested_schema)


def without_structs(rows: pa.Table) -> pa.Table:
    """The rows with a column for each field of a struct, also of one in a struct."""
    import pyarrow as pa

    while any(map(pa.types.is_struct, rows.schema.types)):
        rows = rows.flatten()
    return rows


_EXACT_IN_FLOATS = 2**53


def exact_frame(rows: pa.Table) -> pd.DataFrame:
    """The rows for pandas, whose floats would round large numbers beside NULLs."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = rows.to_pandas()
    exact = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    for place, column in enumerate(rows.columns):
        if column.type not in exact or not column.null_count:
            continue
        least, most = pc.min_max(column).as_py().values()
        if least is not None and max(-least, most) > _EXACT_IN_FLOATS:
            values = column.to_pandas(types_mapper=exact.get)
            frame.isetitem(place, values)
    return frame


def _warn_of_missing(preview: Preview) -> None:
    if missing := preview.cut_text:
        warnings.warn(missing, stacklevel=3)


def _library(name: str) -> Any:
    """A library that is not ours to bring along."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RunProblem(
            f"this takes {name}, which is not installed", hint=f"pip install {name}"
        ) from error
