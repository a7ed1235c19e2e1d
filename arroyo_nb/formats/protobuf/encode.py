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
from arroyo_nb.schema import Field, Schema, arrow_type, quoted
from arroyo_nb.tape import shown_text

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.shapes import Misfit, Record

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
    table
        The table's name, for errors; empty: nobody has given it one.

    Raises
    ------
    CatalogProblem
        When the message has no field for a column, or one of another type.
    """

    message: MessageSchema
    schema: Schema
    table: str = ""

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
            When a message cannot have what is in a row; it names the table, the column
            and the row.
        """
        from google.protobuf.message import EncodeError

        from arroyo_nb.codecs.shapes import Misfit

        try:
            messages = self._record.objects(columns, rows)
        except Misfit as misfit:
            raise self._refused(misfit, columns) from None
        payloads: list[bytes] = []
        try:
            # One by one into the list: its length says which message is refused.
            payloads.extend(map(_SERIALIZED, messages))
        except EncodeError as problem:
            refused = Misfit(len(payloads), "", str(problem))
            raise self._refused(refused, columns) from None
        return payloads

    def _refused(self, misfit: Misfit, columns: Sequence[pa.Array]) -> DataProblem:
        path = misfit.path.lstrip(".")
        why = f"'{path}': {misfit.reason}" if path else misfit.reason
        of = f" of '{self.table}'" if self.table else ""
        row = ", ".join(
            f"{name} = {column[misfit.at].as_py()}"
            for name, column in zip(self.schema.names, columns, strict=True)
        )
        return DataProblem(
            f"a row{of} cannot be written as a message '{self.message.name}': {why}",
            hint=f"the row is: {' '.join(shown_text(row).split())}",
        )

    def of_struct(self, rows: pa.Array) -> pa.Array:
        """The payloads of an array of structs, as Spark has them; errors are those of
        a call."""
        from arroyo_nb.codecs.shapes import Misfit

        held = rows.flatten()
        try:
            columns = list(map(_column, held, self.schema))
        except Misfit as misfit:
            raise self._refused(misfit, held) from None
        return pa.array(self(columns, len(rows)), pa.binary())


def _column(held: pa.Array, field: Field) -> pa.Array:
    """The values that Spark holds as those of a column: it has no unsigned numbers, so
    a wider type stands for each.

    Raises
    ------
    Misfit
        When a number is out of the range of its column.
    """
    from arroyo_nb.codecs.shapes import Misfit

    type_ = arrow_type(field.type)
    try:
        return held.cast(type_)
    except pa.ArrowInvalid:
        for at in range(len(held)):
            try:
                # A slice of lists would have the elements of all of them cast.
                held.take(pa.array([at])).cast(type_)
            except pa.ArrowInvalid:
                reason = f"{held[at].as_py()} is out of the range of {field.type}"
                raise Misfit(at, f".{field.name}", reason) from None
        raise


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
