"""``stdout``: rows as JSON lines on the standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from arroyo_nb.connectors import Direction, SinkOnly, TableSpec, Writer
from arroyo_nb.connectors._line_writers import TextStreamWriter
from arroyo_nb.options import Option


class Stdout(SinkOnly):
    """The connector."""

    name = "stdout"
    doc = "rows as JSON lines on the standard output"
    elsewhere: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(
            ("print", "console"),
            "write connector = 'stdout', format = 'json'; a SELECT by itself shows its "
            "rows, without a table",
        )
    )
    directions = frozenset({Direction.SINK})
    typed = False
    formats = ("json", "debezium_json")
    options: tuple[Option, ...] = ()

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """Writes to whatever ``sys.stdout`` is when a batch is written."""
        return TextStreamWriter(spec.physical, spec.options)


CONNECTOR = Stdout()
