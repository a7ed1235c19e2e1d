"""What is true of one connector, as a value that its file binds.

The planner, the lint rules, the job targets, EXPLAIN and completion read it, so that
none of them knows a connector by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from arroyo_nb.formats import Framing, formats_of
from arroyo_nb.schema import Type
from arroyo_nb.tape import Clock
from arroyo_nb.with_options import Option, OptionValue

NO_METADATA: Mapping[str, Type] = MappingProxyType({})

READS_TAPE = "readStream.parquet over the source's tape, one chunk a batch"
MERGES_CHUNKS = f"{READS_TAPE}; without a speed, small chunks are merged"
"""As :func:`arroyo_nb.tape.speed.merged` does."""


class Direction(Enum):
    """Which way rows go through a table."""

    SOURCE = "source"
    SINK = "sink"
    LOOKUP = "lookup"
    """Rows are found by their key, from a join."""


@dataclass(frozen=True)
class PartitionTransform:
    """What PARTITIONED BY makes of a column.

    Parameters
    ----------
    name
        Its name in a call.
    takes_number
        Whether a whole number follows the column.
    of_times
        Whether the column must be a time.
    """

    name: str
    takes_number: bool = False
    of_times: bool = False


@dataclass(frozen=True, kw_only=True)
class ConnectorInfo:
    """The facts of one connector.

    Parameters
    ----------
    name, doc
        What ``connector`` says, and what it is in one line.
    directions
        Which ways rows go through its tables.
    options
        The WITH options of its own; those of a format come from the format.
    framings
        How it carries records: its tables may have every format that can be carried so.
        Empty: the option ``format`` is unknown.
    typed
        Whether ``type = 'source' | 'sink'`` must be given (else it is unknown).
    elsewhere
        What comes near to it in other systems, and what to write here, for the hint of
        an error.
    metadata
        What ``METADATA FROM 'key'`` may name, with the type that it has.
    has_event_time
        Whether its rows have an event time of their own, which WATERMARK may replace;
        else it is their arrival.
    clock
        The time by which a source of it plays at a speed.
    bounded
        Whether every source of it ends by itself.
    bounded_by
        The option that gives a source of it an end; empty: there is none.
    synthetic
        What its rows are where they are not those of a real stream, for the lint rule
        about such sources; empty: they are real.
    in_arroyo
        Whether Arroyo has a connector of this name.
    runs
        Whether its tables are read and written here. Else a script with one is checked,
        explained and promoted for Arroyo, and a run is refused.
    real_time
        Whether Spark's real-time mode reads its sources and writes its sinks.
    python_packages
        Distributions that a job with it needs beside those that every job does.
    jar_sets
        Names of the sets of jars (:mod:`arroyo_nb.engine.jars`) that Spark needs.
    begins_at, begins_at_else, start_offsets
        Of a source that Spark reads itself: the option that says where a new run
        begins, what it is if it is not given, and the option for the offsets of its
        partitions, as in ``0:1200, 1:900``.
    reading
        How Spark reads a source of it, for EXPLAIN.
    partition_transforms
        What PARTITIONED BY may call; empty: its tables take no PARTITIONED BY.
    guarantees
        What of a source may be missing or come twice when a connection is lost or a run
        is killed, and of a sink, each in a sentence; empty: nothing that EXPLAIN or
        lint would have to say.
    """

    name: str
    doc: str
    directions: frozenset[Direction]
    options: tuple[Option, ...] = ()
    framings: frozenset[Framing] = frozenset()
    typed: bool = True
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Type] = field(default_factory=dict)
    has_event_time: bool = False
    clock: Clock = Clock.EVENT_TIME
    bounded: bool = False
    bounded_by: str = ""
    synthetic: str = ""
    in_arroyo: bool = True
    runs: bool = True
    real_time: bool = False
    python_packages: tuple[str, ...] = ()
    jar_sets: tuple[str, ...] = ()
    begins_at: str = ""
    begins_at_else: str = ""
    start_offsets: str = ""
    reading: str = READS_TAPE
    partition_transforms: Mapping[str, PartitionTransform] = field(default_factory=dict)
    guarantees: Mapping[Direction, str] = field(default_factory=dict)

    @property
    def formats(self) -> tuple[str, ...]:
        """What ``format`` may name, the usual ones first."""
        return formats_of(self.framings)

    @property
    def looked_up_by_key(self) -> bool:
        """Whether its lookup tables are asked for each key: what cannot be read whole
        must be."""
        return Direction.SOURCE not in self.directions

    def ends(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether a source with these options ends by itself."""
        return self.bounded or options.get(self.bounded_by) is not None
