"""Connectors that Arroyo runs and this package does not run yet.

Their tables are declared as any other: options, formats and metadata are checked, and
queries over them are planned, explained and promoted for Arroyo. Only a run is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from arroyo_nb.connectors import (
    ConnectorBase,
    ConnectorInfo,
    TableSpec,
    only_in_arroyo,
)
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import OptionValue


class ArroyoOnly(ConnectorBase):
    """A connector whose facts are known, and nothing more.

    Parameters
    ----------
    info
        Its facts; ``runs`` is False.
    """

    def __init__(self, info: ConnectorInfo) -> None:
        assert not info.runs, "what runs has a class of its own"
        self.info = info

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: the columns are declared."""
        return None

    def recorder(self, spec: TableSpec) -> NoReturn:
        """Refused: it is not read here."""
        raise only_in_arroyo(spec.name, self.info.name)

    def writer(self, spec: TableSpec, state: Path) -> NoReturn:  # noqa: ARG002
        """Refused: it is not written here."""
        raise only_in_arroyo(spec.name, self.info.name)
