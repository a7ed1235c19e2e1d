"""``single_file``: one file of records, one a line, read once or written anew.

The sink creates or empties its file when a run starts for the first time, and writes
every row once however often the run is killed (see
:mod:`arroyo_nb.connectors._line_writers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from arroyo_nb.connectors import (
    MERGES_CHUNKS,
    ConnectorBase,
    ConnectorInfo,
    Direction,
    TableSpec,
    Writer,
)
from arroyo_nb.connectors._files import Files
from arroyo_nb.connectors._line_files import LineReader
from arroyo_nb.connectors._line_writers import FileWriter
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats import Framing, ListedFile, line_format, usual_format
from arroyo_nb.schema import Schema
from arroyo_nb.tape import Recorder
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue


class SingleFile(ConnectorBase):
    """The connector ``single_file``: one file, read or written."""

    info = ConnectorInfo(
        name="single_file",
        doc="one file of records, one a line",
        directions=frozenset(Direction),
        framings=frozenset({Framing.LINES}),
        bounded=True,
        reading=MERGES_CHUNKS,
        options=(
            Option(
                "path",
                OptionKind.STRING,
                "path of the file",
                required=True,
                example="events.json",
                holds=Holds.PATH,
            ),
            Option(
                "wait_for_control",
                OptionKind.BOOL,
                "accepted for Arroyo's sake; no line waits for a control message",
                default=False,
                in_identity=False,
            ),
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """None: a file does not say its columns.

        Raises
        ------
        CatalogProblem
            When there is no format.
        """
        if "format" not in options:
            raise CatalogProblem(
                "'format' must be set for a single_file table",
                hint=f"write format = '{usual_format()}'",
            )
        return None

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """The file of the table, with the option that names it."""
        yield "path", Path(str(spec.options["path"]))

    def recorder(self, spec: TableSpec) -> Recorder:
        """Reads the file."""
        format_ = line_format(str(spec.options["format"]))
        decoder = format_.decoder(
            spec.physical, spec.options, spec.event_time, spec.primary_key
        )
        file = ListedFile(Path(str(spec.options["path"])), spec.shown("path"))
        return Files([file], LineReader(decoder), spec.event_time)

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Writes the file."""
        return FileWriter(spec, state)


CONNECTOR = SingleFile()
