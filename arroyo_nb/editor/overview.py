"""What a side panel shows of a session: its tables, topics, runs and jobs.

Asked again and again while somebody looks: nothing here waits for a broker, a disk or
Spark. What takes long is found in the background, and is there at the next question.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from arroyo_nb.catalog import (
    Catalog,
    ConnectorTable,
    LookupTable,
    Relation,
    View,
    WatermarkClause,
)
from arroyo_nb.editor.background_value import BackgroundValue
from arroyo_nb.editor.command_line import command_line
from arroyo_nb.editor.known_topics import BrokerOverview, KnownTopics, TopicOverview

if TYPE_CHECKING:
    from arroyo_nb.jobs.known_jobs import KnownJobs
    from arroyo_nb.run.run import Run
    from arroyo_nb.session import Session

JOBS_S = 2.0
"""For how many seconds the states of jobs are shown before they are read again."""

NOTEBOOK_FILE = "JPY_SESSION_NAME"
"""The variable in which a Jupyter server tells a kernel the notebook's path."""


@dataclass(frozen=True)
class ColumnOverview:
    """A column.

    Parameters
    ----------
    name
        As declared.
    type
        The SQL that declares it.
    event_time
        Whether the watermark is made of it.
    sql
        Its name as it is written in a query.
    """

    name: str
    type: str
    event_time: bool
    sql: str


@dataclass(frozen=True)
class TableOverview:
    """A table or a view.

    Parameters
    ----------
    name
        As declared.
    kind
        ``table`` or ``view``.
    connector
        Its connector and direction, ``kafka source``; None: it has none.
    watermark
        How the watermark of a source is made; None: it makes none.
    columns
        In declared order.
    sql
        Its name as it is written in a query.
    head
        The line that shows its first rows; None: it has none to show.
    """

    name: str
    kind: str
    connector: str | None
    watermark: str | None
    columns: tuple[ColumnOverview, ...]
    sql: str
    head: str | None


@dataclass(frozen=True)
class RunOverview:
    """A run.

    Parameters
    ----------
    name
        The run's.
    state
        starting, running, paused, finished, stopped or failed.
    rows_s
        Input rows a second, as text; None: not known.
    lag
        By how much the watermark is behind the newest event, as text; None: not known.
    live
        Whether it can be stopped.
    show
        The line that shows its panel; None: its name fits in no line.
    """

    name: str
    state: str
    rows_s: str | None
    lag: str | None
    live: bool
    show: str | None


@dataclass(frozen=True)
class JobOverview:
    """A job; ``folder`` is that of its spec, relative to the notebook's, with ``/``."""

    name: str
    state: str
    folder: str


@dataclass(frozen=True)
class Overview:
    """All of it; ``brokers`` without a topic say why in their notes."""

    tables: tuple[TableOverview, ...]
    brokers: tuple[BrokerOverview, ...]
    runs: tuple[RunOverview, ...]
    jobs: tuple[JobOverview, ...]

    @property
    def topics(self) -> tuple[TopicOverview, ...]:
        """The topics of all brokers."""
        return tuple(topic for broker in self.brokers for topic in broker.topics)

    def as_json(self) -> dict[str, Any]:
        """As a page reads it."""
        return {
            "tables": [asdict(table) for table in self.tables],
            "brokers": [{"name": b.name, "note": b.note} for b in self.brokers],
            "topics": [asdict(topic) for topic in self.topics],
            "runs": [asdict(run) for run in self.runs],
            "jobs": [asdict(job) for job in self.jobs],
        }


class _Overviews:
    """What is kept of a session between two questions."""

    def __init__(self, session: Session) -> None:
        self._catalog: Catalog | None = None
        self._tables: tuple[TableOverview, ...] = ()
        self._topics = KnownTopics()
        # No reference to the session: it would never be freed.
        self._jobs = BackgroundValue(partial(_jobs, session.jobs), JOBS_S)

    def overview(self, session: Session) -> Overview:
        # A catalog never changes, and most cells declare nothing.
        if self._catalog is not session.catalog:
            self._tables = _tables(session.catalog)
            self._catalog = session.catalog
        # At once: a cell may start another run meanwhile.
        runs = list(session.runs.values())
        ordered = sorted(runs, key=lambda run: run.state.ended)
        return Overview(
            self._tables,
            self._topics.newest(session),
            tuple(map(_run, ordered)),
            self._jobs.newest() or (),
        )


_KNOWN: WeakKeyDictionary[Session, _Overviews] = WeakKeyDictionary()


def overview(session: Session) -> Overview:
    """What a session has by now; returns at once.

    Parameters
    ----------
    session
        Its engine is not started. The brokers that it knows are asked in the
        background.
    """
    if session not in _KNOWN:
        _KNOWN[session] = _Overviews(session)
    return _KNOWN[session].overview(session)


def _tables(catalog: Catalog) -> tuple[TableOverview, ...]:
    return tuple(_table(table) for _, table in sorted(catalog.tables.items()))


def _table(table: Relation) -> TableOverview:
    from arroyo_nb.plan.show_statements import kind
    from arroyo_nb.plan.tables.render_ddl import written_name

    mark = _source_watermark(table)
    event_time = mark.column if mark else None
    has_connector = isinstance(table, ConnectorTable | LookupTable)
    columns = tuple(
        ColumnOverview(f.name, str(f.type), f.name == event_time, written_name(f.name))
        for f in table.schema
    )
    is_read_whole = isinstance(table, LookupTable) and not table.asked
    has_rows = mark is not None or is_read_whole
    return TableOverview(
        name=table.name,
        kind="view" if isinstance(table, View) else "table",
        connector=kind(table) if has_connector else None,
        watermark=_watermark(mark) if mark else None,
        columns=columns,
        sql=written_name(table.name),
        head=command_line("head", table.name) if has_rows else None,
    )


def _source_watermark(table: Relation) -> WatermarkClause | None:
    from arroyo_nb.connectors import Direction

    is_source = isinstance(table, ConnectorTable) and (
        table.direction is Direction.SOURCE
    )
    return table.watermark if is_source else None  # type: ignore[union-attr]


def _watermark(mark: WatermarkClause) -> str:
    from arroyo_nb.views.formatting import duration

    column = mark.column or "time of the record"
    delay = mark.fixed_delay
    return (
        f"an expression over {column}"
        if delay is None
        else (f"{column} - {duration(delay)}")
    )


def _run(run: Run) -> RunOverview:
    from arroyo_nb.run.observe.run_pace import run_pace
    from arroyo_nb.views.formatting import duration, pace

    found = run_pace(run)
    rate, lag = found.rows_per_s, found.watermark_lag
    return RunOverview(
        name=found.name,
        state=found.state,
        rows_s=None if rate is None else pace(rate),
        lag=None if lag is None else duration(lag),
        live=not found.ended,
        show=command_line("show", found.name),
    )


def _jobs(known: KnownJobs) -> tuple[JobOverview, ...]:
    from arroyo_nb.jobs.status import status

    file = os.environ.get(NOTEBOOK_FILE, "")
    beside = Path(file).parent if file.endswith(".ipynb") else Path.cwd()
    found = map(status, known.specs)
    return tuple(
        JobOverview(job.name, job.state, _relative(job.folder, beside)) for job in found
    )


def _relative(folder: Path, beside: Path) -> str:
    return Path(os.path.relpath(folder, beside)).as_posix()
