"""``stdout``: rows as JSON lines on the standard output."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from arroyo_nb.connectors import ConnectorInfo, Direction, SinkOnly, TableSpec, Writer
from arroyo_nb.connectors._line_writers import TextStreamWriter
from arroyo_nb.formats import Framing, usual_format


class Stdout(SinkOnly):
    """The connector ``stdout``: a sink that prints its rows."""

    info = ConnectorInfo(
        name="stdout",
        doc="rows as JSON lines on the standard output",
        elsewhere=MappingProxyType(
            dict.fromkeys(
                ("print", "console"),
                f"write connector = 'stdout', format = '{usual_format()}'; a SELECT by "
                "itself shows its rows, without a table",
            )
        ),
        directions=frozenset({Direction.SINK}),
        typed=False,
        framings=frozenset({Framing.LINES}),
    )

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """Writes to whatever ``sys.stdout`` is when a batch is written."""
        return TextStreamWriter(spec.physical, spec.options)


CONNECTOR = Stdout()
