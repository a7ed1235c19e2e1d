"""The options of a run: one type, and one table of what each is called and means.

Options are parsed once, at the edge: by :meth:`RunOptions.parse` where Python or a cell
gives them, by :mod:`arroyo_nb.jobs.spec_file` where a job spec does. Everything behind
the edge takes a :class:`RunOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from arroyo_nb.run.option_values import (
    duration,
    duration_literal,
    ending,
    playing_speed,
    size_bytes,
    state_folder,
)

FLUSH = timedelta(milliseconds=250)
JOB_FLUSH = timedelta(seconds=1)
"""How often live changes are emitted where no trigger is given: to a panel, and by a
job, to which fewer and larger batches matter more."""

STRICT = "strict"
"""The mode of a job spec in which scripts that Arroyo would refuse are refused, and
expressions have Arroyo's own values."""

BUDGET_BYTES = 2**30
"""What a run keeps of its rows where no budget is given."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a script is run; see :data:`OPTIONS` for how users write each.

    Parameters
    ----------
    sinks
        Whether INSERTs write to their tables; else they are previewed.
    keep
        Whether rows of written sinks are kept for a preview too.
    speed
        ``"max"``, or how many times faster than event time chunks are released.
    strict
        Whether scripts that Arroyo would refuse are refused, and expressions whose
        value differs from Arroyo's on purpose have Arroyo's.
    ttl
        How long an updating query keeps an idle key; None: as the script SETs.
    trigger
        Least time between micro-batches; None: as soon as there are rows. In real-time
        mode the time between checkpoints.
    stop_after
        Wall time after which the run is stopped; the engine's start is not in it.
    until
        Event time (naive UTC) that the watermark must reach for the run to be stopped.
        ``"end"``: topics are read only to where they end when the run begins.
    step
        Whether chunks are released one by one, by ``Run.step``.
    traced
        Whether windows and late rows are counted.
    real_time
        Whether queries run in Spark's real-time mode.
    printed
        Whether bare SELECTs go to standard output as JSON lines, and none are kept.
    budget_bytes
        What the rows that are kept may take on the disk; 0: only the newest are kept,
        in memory.
    state_dir
        Folder with the state folders of runs; None: the session's, or a temporary one.
    parallelism
        Tasks that run at once; None: one for each core. A job's only.
    """

    sinks: bool = True
    keep: bool = False
    speed: float | str = "max"
    strict: bool = False
    ttl: timedelta | None = None
    trigger: timedelta | None = None
    stop_after: timedelta | None = None
    until: datetime | Literal["end"] | None = None
    step: bool = False
    traced: bool = True
    real_time: bool = False
    printed: bool = False
    budget_bytes: int = BUDGET_BYTES
    state_dir: Path | None = None
    parallelism: int | None = None

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> RunOptions:
        """The options as users give them, by their names in :data:`OPTIONS`.

        Raises
        ------
        RunProblem
            When a value is not one of its option.

        >>> RunOptions.parse({"trigger": "250ms"}).trigger
        datetime.timedelta(microseconds=250000)
        """
        rows = ((BY_NAME[name], value) for name, value in given.items())
        return cls(**{row.field: row.parse(value) for row, value in rows})

    @property
    def flush(self) -> timedelta:
        """Where no trigger is given: how often a source that is played at a speed
        releases rows, and the trigger of updating queries over a source without end."""
        return JOB_FLUSH if self.printed else FLUSH

    @property
    def ends(self) -> str:
        """The options by which the run ends early, as a cell writes them."""
        limits = (BY_NAME[name] for name in ("until", "stop_after"))
        values = ((row, getattr(self, row.field)) for row in limits)
        return " and ".join(
            f"{o.flag} {o.write(value)}" for o, value in values if value
        )


DEFAULTS = RunOptions()


def _as_given(value: Any) -> Any:
    return value


def _folder(value: str | Path | None) -> Path | None:
    return None if value is None else state_folder(value)


def _mode(value: bool | str) -> bool:
    # A job spec names the mode; its schema has refused other names.
    return value == STRICT if isinstance(value, str) else value


def _mode_text(strict: bool) -> str:
    return STRICT if strict else "default"


@dataclass(frozen=True)
class RunOption:
    """One option, and where users may write it.

    Parameters
    ----------
    name
        The keyword of :meth:`arroyo_nb.session.Session.run`.
    doc
        One line of help.
    parse
        Turns what a user writes, or the value itself, into the value.
    write
        Turns the value into what a job spec says.
    flag
        How a cell and the command line write it; empty: they cannot.
    metavar
        What its value is called in the help; None: the flag takes none.
    job_key
        Its key in the ``options`` of a job spec; empty: a spec cannot say it.
    field
        The field of :class:`RunOptions`; by default the name.
    in_python
        Whether :meth:`arroyo_nb.session.Session.run` takes it.
    """

    name: str
    doc: str
    parse: Callable[[Any], Any] = _as_given
    write: Callable[[Any], Any] = _as_given
    flag: str = ""
    metavar: str | None = None
    job_key: str = ""
    field: str = ""
    in_python: bool = True

    def __post_init__(self) -> None:
        if not self.field:
            object.__setattr__(self, "field", self.name)


OPTIONS = (
    RunOption("sinks", "INSERTs write to their tables, not to a preview",
              flag="--sinks"),
    RunOption("keep", "keep rows for a preview beside the sinks that are written"),
    RunOption("speed", "how many times faster than event time, or max", playing_speed,
              flag="--speed", metavar="N"),
    RunOption("strict", "refuse what Arroyo would refuse", _mode, _mode_text,
              flag="--strict", job_key="mode"),
    RunOption("parallelism", "tasks that run at once", job_key="parallelism",
              in_python=False),
    RunOption("trigger", "least time between micro-batches, 250ms", duration,
              duration_literal, flag="--trigger", metavar="TIME", job_key="trigger"),
    RunOption("ttl", "forget keys of updating queries that are idle", duration,
              duration_literal, flag="--ttl", metavar="TIME", job_key="ttl"),
    RunOption("state_dir", "keep state here, and resume", _folder),
    RunOption("stop_after", "stop after a time, such as 30s or 5m", duration,
              duration_literal, flag="--for", metavar="TIME"),
    RunOption("until", "stop when the watermark reaches an event time, or topics where "
              "they end now", ending, flag="--until",
              metavar="'2013-01-01 12:00'|end"),
    RunOption("step", "start paused; Step reads one chunk of each source: at a --speed "
              "what is due at once, else all of a small file", flag="--step"),
    RunOption("traced", "count the rows of windows and late rows"),
    RunOption("real_time", "run in Spark's real-time mode", job_key="real_time"),
    RunOption("printed", "print the rows of bare SELECTs as JSON lines"),
    RunOption("budget", "disk that kept rows may take, 1GB if not said: above it the "
              "oldest go", size_bytes, flag="--budget", metavar="SIZE",
              field="budget_bytes"),
)  # fmt: skip
"""Every option: parsing, the flags of cells, job specs and the command line read it."""

BY_NAME: Mapping[str, RunOption] = MappingProxyType({o.name: o for o in OPTIONS})


def job_options(options: RunOptions) -> Iterator[tuple[RunOption, Any]]:
    """The options that a job spec says, with their values."""
    for row in OPTIONS:
        if row.job_key:
            yield row, getattr(options, row.field)
