"""What a class of events is in SQL and in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from typing import Any

import pyarrow as pa

from arroyo_nb.codecs.json_text import JsonText
from arroyo_nb.codecs.shapes import Misfit, Record
from arroyo_nb.errors import CatalogProblem, DataProblem
from arroyo_nb.events import from_annotations, from_protobuf
from arroyo_nb.events.from_protobuf import is_message_class
from arroyo_nb.plan.tables.render_ddl import written_name, written_table
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    DATE,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    JSON,
    SMALLINT,
    TEXT,
    TIME,
    TINYINT,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
)

ROWS = 10_000
"""Events of a batch."""

_DECLARED: Mapping[Type, Type] = {
    **dict.fromkeys((TINYINT, SMALLINT), INT),
    **dict.fromkeys(map(Primitive, ("TINYINT UNSIGNED", "SMALLINT UNSIGNED")),
                    INT_UNSIGNED),
    **dict.fromkeys((DATE, TIME), TEXT),
}  # fmt: skip
"""A type that no table of a connector may have -> what stands for it there."""


@dataclass(frozen=True)
class EventType:
    """A class of events.

    Parameters
    ----------
    cls
        The class.
    record
        The shape of its objects.
    """

    cls: type
    record: Record

    @cached_property
    def columns(self) -> Schema:
        """Its attributes as the columns of a table."""
        return Schema(tuple(member.column for member in self.record.members))

    @cached_property
    def declared(self) -> Schema:
        """The same with types that a table of a connector may have: a date and a time
        of day are texts there, as records of JSON have them.

        Raises
        ------
        CatalogProblem
            When there is none: of an INTERVAL.
        """
        return Schema(
            tuple(
                replace(field, type=declared_type(self._place(field.name), field.type))
                for field in self.columns
            )
        )

    def _place(self, attribute: str) -> str:
        return f"{self.cls.__name__}.{attribute}"

    @cached_property
    def schema(self) -> pa.Schema:
        """The same in Arrow."""
        return arrow_schema(self.columns)

    def create_table(
        self,
        name: str,
        options: Mapping[str, str],
        event_time: str | None = None,
        watermark: str = "5 seconds",
    ) -> str:
        """A statement that declares a table of these events.

        Parameters
        ----------
        name
            The table's.
        options
            What stands behind WITH.
        event_time
            The column of the event time; None: the one column of type TIMESTAMP, where
            there is one.
        watermark
            How late rows may come.

        Raises
        ------
        CatalogProblem
            When the event time is no column of times.
        """
        columns = [
            f"{written_name(column.name)} {column.type}"
            + ("" if column.nullable else " NOT NULL")
            for column in self.declared
        ]
        at = self._event_time(event_time)
        if at is not None:
            written = written_name(at)
            columns.append(
                f"WATERMARK FOR {written} AS {written} - INTERVAL '{watermark}'"
            )
        return written_table(written_name(name), columns, options)

    def _event_time(self, name: str | None) -> str | None:
        times = [c.name for c in self.columns if isinstance(c.type, Timestamp)]
        if name is None:
            return times[0] if len(times) == 1 else None
        if name not in times:
            raise CatalogProblem(
                f"{self.cls.__name__} has no attribute '{name}' of type datetime",
                hint=did_you_mean(name, times),
            )
        return name

    def batches(
        self, events: Iterable[Any], rows: int = ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Events as batches of Arrow.

        Parameters
        ----------
        events
            Objects of the class.
        rows
            Events of a batch; the last one may have less.

        Raises
        ------
        DataProblem
            For the first event that is none, with its number, from 0, and the
            attribute.
        """
        if not isinstance(events, Iterable):
            kind = type(events).__name__
            raise DataProblem(
                f"one {kind} is given where a list or an iterator of them is taken",
                hint=f"write [{kind.lower()}]",
            )
        source, first = iter(events), 0
        while chunk := list(islice(source, rows)):
            yield self._batch(chunk, first)
            first += len(chunk)

    def _batch(self, events: Sequence[Any], first: int) -> pa.RecordBatch:
        try:
            return self._record_batch(events)
        except Misfit as misfit:
            raise DataProblem(
                f"events[{first + misfit.at}]{misfit.path}: {misfit.reason}"
            ) from None

    def _record_batch(self, events: Sequence[Any]) -> pa.RecordBatch:
        columns = self.record.columns(events)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def mappings(self, events: Sequence[Any]) -> list[dict[str, Any]]:
        """Events as the rows of a table that :meth:`create_table` declares.

        Raises
        ------
        DataProblem
            For the first value that is not of its type, with its attribute.
        """
        try:
            batch = self._record_batch(events)
        except Misfit as misfit:
            place = f"{self.cls.__name__}{misfit.path}"
            raise DataProblem(f"{place}: {misfit.reason}") from None
        rows: list[dict[str, Any]] = batch.cast(arrow_schema(self.declared)).to_pylist()
        for column in self._columns_with_json:
            for row in rows:
                row[column.name] = _with_json(row[column.name], column.type)
        return rows

    @cached_property
    def _columns_with_json(self) -> tuple[Field, ...]:
        return tuple(column for column in self.columns if _has_json(column.type))

    def objects(self, rows: pa.Table | pa.RecordBatch) -> Iterator[Any]:
        """Rows as objects of the class; columns that it has no attribute for are left
        out.

        Parameters
        ----------
        rows
            With a column for each attribute.

        Raises
        ------
        DataProblem
            When a column is missing or has another type, or the class refuses a value.
        """
        columns = [self._column(rows, field) for field in self.schema]
        found = pa.table(columns, names=self.schema.names)
        first = 0
        for batch in found.to_batches(max_chunksize=ROWS):
            try:
                yield from self.record.objects(batch.columns, len(batch))
            except Misfit as misfit:
                raise DataProblem(
                    f"rows[{first + misfit.at}]{misfit.path}: {misfit.reason}"
                ) from None
            first += len(batch)

    def _column(self, rows: pa.Table | pa.RecordBatch, field: pa.Field) -> Any:
        names = rows.schema.names
        if field.name not in names:
            raise DataProblem(
                f"the rows have no column '{field.name}' for {self.cls.__name__}",
                hint=did_you_mean(field.name, names),
            )
        column = rows.column(field.name)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
        try:
            return column.cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise DataProblem(
                f"the column '{field.name}' is {column.type}, and not "
                f"{self.columns[field.name].type} as in {self.cls.__name__}: {error}"
            ) from None


def declared_type(place: str, type_: Type) -> Type:
    """The type that stands for another one in a table of a connector: a text for a date
    and a time of day.

    Parameters
    ----------
    place
        What errors call the value.

    Raises
    ------
    CatalogProblem
        When there is none: of an INTERVAL.
    """
    if isinstance(type_, ListOf):
        return ListOf(declared_type(place, type_.element))
    if isinstance(type_, StructOf):
        parts = ((f, f"{place}.{f.name}") for f in type_.fields)
        return StructOf(
            tuple(replace(f, type=declared_type(at, f.type)) for f, at in parts)
        )
    if type_ == INTERVAL:
        raise CatalogProblem(
            f"{place} is an INTERVAL, which no table of a connector can have",
            hint="make it a number, such as seconds: int",
        )
    return _DECLARED.get(type_, type_)


def _has_json(type_: Type) -> bool:
    if isinstance(type_, ListOf):
        return _has_json(type_.element)
    if isinstance(type_, StructOf):
        return any(_has_json(field.type) for field in type_.fields)
    return type_ == JSON


def _with_json(value: Any, type_: Type) -> Any:
    """A value whose JSON is marked as such, so that it is no text in a document."""
    if value is None:
        return None
    if isinstance(type_, ListOf):
        return [_with_json(one, type_.element) for one in value]
    if isinstance(type_, StructOf):
        return {f.name: _with_json(value[f.name], f.type) for f in type_.fields}
    return JsonText(value) if type_ == JSON else value


def event_type(cls: Any) -> EventType:
    """What a class of events is.

    Raises
    ------
    CatalogProblem
        When it is none, or an attribute has no type in SQL.
    """
    hashable: Any = cls
    return _known(hashable)


@cache
def _known(cls: Any) -> EventType:
    if is_message_class(cls):
        return EventType(cls, from_protobuf.record_of(cls.DESCRIPTOR))
    return EventType(cls, from_annotations.record_of(cls))


def is_event_class(cls: type) -> bool:
    """Whether a class is one of events."""
    return from_annotations.is_annotated(cls) or is_message_class(cls)
