"""Rows as payloads, each a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from arroyo_nb.codecs.declared_rows import DeclaredRows
from arroyo_nb.errors import DataProblem
from arroyo_nb.formats.json.payload_writer import adapted
from arroyo_nb.formats.protobuf.descriptors import MessageSchema
from arroyo_nb.lazy_imports import pa
from arroyo_nb.schema import Schema, arrow_type, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.shapes import Record

VALUE = "value"

# The entries of maps in the order of their keys: a batch that is written again must
# have the same bytes.
_SERIALIZED = methodcaller("SerializeToString", deterministic=True)


@dataclass(frozen=True)
class RowEncoder:
    """Makes payloads of the columns of rows; pickled for Spark's workers.

    Parameters
    ----------
    message
        What a row becomes.
    schema
        The columns.

    Raises
    ------
    CatalogProblem
        When the message has no field for a column, or one of another type.
    """

    message: MessageSchema
    schema: Schema

    def __post_init__(self) -> None:
        self._record  # noqa: B018  # before anything runs, and not with the first row

    @property
    def _record(self) -> Record:
        from arroyo_nb.formats.protobuf.payloads import column_record

        return column_record(self.message, self.schema)

    def __call__(self, columns: Sequence[pa.Array], rows: int) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        DataProblem
            When a message cannot have what is in a row.
        """
        from google.protobuf.message import EncodeError

        from arroyo_nb.codecs.shapes import Misfit

        try:
            messages = self._record.objects(columns, rows)
            return list(map(_SERIALIZED, messages))
        except Misfit as misfit:
            path = misfit.path.lstrip(".")
            raise self._refused(
                f"'{path}': {misfit.reason}" if path else misfit.reason
            ) from None
        except EncodeError as problem:
            raise self._refused(str(problem)) from None

    def _refused(self, why: str) -> DataProblem:
        return DataProblem(
            f"a row cannot be written as a message '{self.message.name}': {why}"
        )

    def of_struct(self, rows: pa.Array) -> pa.Array:
        """The payloads of an array of structs, as Spark has them."""
        columns = [
            column.cast(arrow_type(field.type))
            for column, field in zip(rows.flatten(), self.schema, strict=True)
        ]
        return pa.array(self(columns, len(rows)), pa.binary())


def payload_column(encoder: RowEncoder) -> Column:
    """The payloads of rows, made in Spark's Python workers."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.functions import arrow_udf

    # Names of ours: Spark stumbles over dots and backticks in what Python is given.
    parts = (
        f"'c_{number}', {quoted(name)}"
        for number, name in enumerate(encoder.schema.names)
    )
    made = arrow_udf(_called(encoder), "binary")  # type: ignore[call-overload]
    column: Column = made(F.expr(f"named_struct({', '.join(parts)})"))
    return column.alias(VALUE)


def _called(encoder: RowEncoder) -> Callable[[pa.Array], pa.Array]:
    """What Spark calls: it goes by the annotations."""

    def call(rows: pa.Array) -> pa.Array:
        return encoder.of_struct(rows)

    return call


class RowWriter:
    """Writes rows of Python where there is no Spark.

    Parameters
    ----------
    table
        The table's name, for errors.
    encoder
        What makes payloads of columns.
    """

    def __init__(self, table: str, encoder: RowEncoder) -> None:
        self._rows = DeclaredRows(table, encoder.schema, adapted)
        self._encoder = encoder

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        RunProblem
            When a row has another column, or a value that its column does not take.
        """
        types = (arrow_type(field.type) for field in self._encoder.schema)
        columns = [
            partial(pa.array, type=type_)(values)
            for type_, values in zip(types, self._rows.columns(rows), strict=True)
        ]
        return self._encoder(columns, len(rows))
