"""What a format of whole files does for the connectors that read and write files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.tape import Position

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from arroyo_nb.formats import Decoded

PARTITION_KEY = "/partition"
"""The column of a batch that has the key of each row's partition."""

Pieces = Iterator["pa.Table"]


@dataclass(frozen=True)
class ListedFile:
    """A file.

    Parameters
    ----------
    path
        Where it lies.
    name
        What messages and places call it.
    folders
        The values that its folders are named by, as ``day=2024-01-01``; None is NULL.
    """

    path: Path
    name: str
    folders: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """What was read of a file at once."""

    decoded: Decoded
    size_bytes: int


class Reading(Protocol):
    """A file that is being read."""

    @property
    def place(self) -> Position:
        """Where it stands, as plain JSON values."""

    @property
    def records(self) -> int:
        """No fewer than the records up to there."""

    def read(self, size_bytes: int) -> Piece | None:
        """About as much as that, at least one record; None at the end.

        Raises
        ------
        RunProblem
            When the file cannot be read, or a record is bad and not dropped.
        """


class FileReader(Protocol):
    """Reads files of one kind."""

    def open(
        self, file: ListedFile, place: Position | None
    ) -> AbstractContextManager[Reading]:
        """A file from a place on; None is its beginning.

        Raises
        ------
        RunProblem
            When it cannot be opened, or has no such place.
        """


class PartFormat(Protocol):
    """A kind of file."""

    extension: str

    def columns(self, names: Sequence[str], key: str) -> list[Column]:
        """What Spark computes of a micro-batch.

        Parameters
        ----------
        names
            The columns of its rows.
        key
            Spark SQL of the key.
        """

    def rows(self, computed: pa.Table) -> pa.Table:
        """What is written of it, and each row's key."""

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write pieces into a new file, at least one and as many as there is room
        for; returns its size in bytes."""

    def join(self, parts: Sequence[Path], path: Path) -> None:
        """Write the rows of all parts into one new file."""


def partition_key(sql: str) -> Column:
    """The key of each row's partition, from its Spark SQL."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(sql).alias(PARTITION_KEY)
