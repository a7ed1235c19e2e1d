"""Payloads that are the value of a row's one column, as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arroyo_nb.codecs.declared_rows import DeclaredRows
from arroyo_nb.codecs.sql_decoder import AS_TEXT, PAYLOAD, TEXT, SqlDecoder
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import (
    DecodedPayloads,
    FormatBase,
    Framing,
    PayloadDecoder,
    PayloadWriter,
)
from arroyo_nb.schema import BYTEA, Primitive, Schema, arrow_type
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

_VALUE = "value"


class RawFormat(FormatBase):
    """A format of one column.

    Parameters
    ----------
    name, doc
        What it is called, and what it is.
    type_
        Of the column ``value``.
    """

    framings = frozenset({Framing.MESSAGES})

    def __init__(self, name: str, doc: str, type_: Primitive) -> None:
        self.name = name
        self.doc = doc
        self._type = type_
        if type_ != BYTEA:
            self.content_type = "text/plain; charset=utf-8"

    def column_problem(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> tuple[str, str] | None:
        """That there is another column than ``value``, or one of another type."""
        if [(field.name, field.type) for field in schema] == [(_VALUE, self._type)]:
            return None
        return "format", (
            f"{self.name} format requires a schema with a single field called "
            f"`{_VALUE}` of type {self._type}"
        )

    def payload_decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
        primary_key: tuple[str, ...] = (),  # noqa: ARG002
    ) -> PayloadDecoder:
        """A reader of such payloads."""
        return RawPayloads(self._type)

    def sql_decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
    ) -> SqlDecoder | str:
        """A reader of such payloads."""
        if self._type == BYTEA:
            return SqlDecoder((), (PAYLOAD,), "CAST(NULL AS STRING)")
        return SqlDecoder((AS_TEXT,), (TEXT,), f"IF({TEXT} IS NULL, 'not UTF-8', NULL)")

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],  # noqa: ARG002
        *,
        read: bool,  # noqa: ARG002
    ) -> PayloadWriter:
        """Writes the values as they are."""
        return RawWriter(DeclaredRows(table, schema))

    def encoded(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Column:
        """The value as it is; of none, an empty payload."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.expr(f"coalesce(CAST({_VALUE} AS BINARY), X'')").alias(_VALUE)


class RawPayloads:
    """Reads payloads as they are; a text must be UTF-8."""

    def __init__(self, type_: Primitive) -> None:
        self._type = type_

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        import pyarrow as pa

        bad: tuple[tuple[int, str], ...] = ()
        numbers = pa.array(range(len(payloads)), pa.int64())
        try:
            values = payloads.cast(arrow_type(self._type))
        except pa.ArrowInvalid:
            bad = _not_text(payloads)
            wrong = {number for number, _ in bad}
            numbers = pa.array(n for n in range(len(payloads)) if n not in wrong)
            values = payloads.take(numbers).cast(arrow_type(self._type))
        return DecodedPayloads(pa.table({_VALUE: values}), numbers, bad)


class RawWriter:
    """Writes rows of Python whose one column is the payload."""

    def __init__(self, rows: DeclaredRows) -> None:
        self._rows = rows

    def __call__(self, rows: Sequence[Any]) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        RunProblem
            When a row has another column, or no value.
        """
        (values,) = self._rows.columns(rows)
        return [_bytes(value) for value in values]


def _bytes(value: str | bytes | None) -> bytes:
    if value is None:
        raise RunProblem("a record of one value has one: it is NULL in a row")
    return value if isinstance(value, bytes) else value.encode()


def _not_text(payloads: pa.Array) -> tuple[tuple[int, str], ...]:
    found = []
    for number, payload in enumerate(payloads.to_pylist()):
        try:
            payload.decode("utf-8")
        except UnicodeDecodeError as problem:
            found.append((number, f"not UTF-8 at byte {problem.start + 1}"))
    return tuple(found)
