"""Rows that ``emit`` is given, one by one, and the records that they become."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.events.definition import event_type, is_event_class
from arroyo_nb.formats.json.payload_writer import plain_payload
from arroyo_nb.frames import rows_of
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import EPOCH

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000
"""How many rows of a DataFrame become rows of Python at once."""

MILLISECOND = timedelta(milliseconds=1)

RowRecord: TypeAlias = tuple[bytes, bytes | None, int | None]
"""The value, the key and the time of a record."""


class RowRecords:
    """Turns rows into records.

    Parameters
    ----------
    payloads
        Turns rows into the records' values.
    names
        The columns of rows that come without names; empty: none may.
    key, timestamp
        The columns that are a record's key and its time; None: it has none.
    declared
        Those of them that the table names: a text goes without.
    """

    def __init__(
        self,
        payloads: Callable[[Sequence[Any]], list[bytes]],
        names: Sequence[str] = (),
        key: str | None = None,
        timestamp: str | None = None,
        declared: Container[str | None] = (),
    ) -> None:
        self._payloads = payloads
        self._names = names
        self._key = key
        self._timestamp = timestamp
        self._declared = declared

    def __call__(self, rows: Sequence[Any]) -> list[RowRecord]:
        """The records of some rows; texts and bytes are values already.

        Raises
        ------
        RunProblem
            When a row cannot be a record.
        """
        named = [self._named(row) for row in self._mappings(rows)]
        try:
            # All payloads at once, as a declared table writes them in one pass.
            payloads = iter(
                self._payloads([row for row in named if not _is_value(row)])
            )
            return [
                (
                    plain_payload(row) if _is_value(row) else next(payloads),
                    self._key_of(row),
                    self._time_of(row),
                )
                for row in named
            ]
        except UnicodeEncodeError:
            raise RunProblem(
                "a text has half of a pair of surrogates, which UTF-8 has no bytes for",
                hint="text.encode('utf-8', 'replace').decode() has a '?' in its place",
            ) from None

    def _mappings(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Typed events as mappings: those of one class that stand together at once."""
        if not any(map(is_event_class, set(map(type, rows)))):
            return rows
        made: list[Any] = []
        for cls, some in groupby(rows, type):
            if not is_event_class(cls):
                made += some
                continue
            made += event_type(cls).mappings([*some])
        return made

    def _named(self, row: Any) -> Any:
        if isinstance(row, str | bytes) and self._names == ("value",):
            return {"value": row}
        if not isinstance(row, tuple | list):
            return row
        names = getattr(row, "_fields", self._names)
        if len(names) != len(row):
            raise RunProblem(
                f"a row has {len(row)} values, and {len(names)} columns have names",
                hint="emit mappings, or name the columns: columns=('id', 'at')",
            )
        return dict(zip(names, row, strict=True))

    def _key_of(self, row: Any) -> bytes | None:
        if self._key is None or self._goes_without(row, self._key):
            return None
        value = self._value(row, self._key)
        return None if value is None else plain_payload(value)

    def _time_of(self, row: Any) -> int | None:
        if self._timestamp is None or self._goes_without(row, self._timestamp):
            return None
        value = self._value(row, self._timestamp)
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            value = (aware - EPOCH) // MILLISECOND
        if value is None:
            return None
        # The client takes a time that is not after 1970 for none at all.
        if not isinstance(value, int) or value <= 0:
            raise RunProblem(
                f"'{self._timestamp}' is {value!r}, which is no time of a record",
                hint="it is a datetime, or milliseconds after 1970",
            )
        return value

    def _goes_without(self, row: Any, name: str) -> bool:
        return _is_value(row) and name in self._declared

    def _value(self, row: Any, name: str) -> Any:
        if _is_value(row):
            raise RunProblem(
                f"a text has no columns, and so no '{name}'",
                hint="emit mappings, or leave key and timestamp out",
            )
        if not isinstance(row, Mapping) or name not in row:
            names = row if isinstance(row, Mapping) else ()
            raise RunProblem(
                f"a row has no column '{name}'", hint=did_you_mean(name, names)
            )
        return row[name]


def incoming(rows: Any) -> tuple[Iterable[Any], bool]:
    """The rows of a value, one by one, and whether their number is known.

    Raises
    ------
    RunProblem
        When the value has no rows.
    """
    if isinstance(rows, str | bytes | Mapping) or not _has_rows(rows):
        raise RunProblem(
            f"a value of type '{type(rows).__name__}' cannot be emitted",
            hint="emit a DataFrame, or a list or an iterator of mappings",
        )
    if _is_frame(rows):
        return _rows_of(rows_of(rows)), True
    return rows, isinstance(rows, Sized)


def _is_value(row: Any) -> bool:
    """Whether a row is the value of a record as it is."""
    return isinstance(row, str | bytes)


def _has_rows(rows: Any) -> bool:
    return _is_frame(rows) or isinstance(rows, Iterable)


def _is_frame(rows: Any) -> bool:
    return hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "toArrow")


def _rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=ROWS):
        yield from batch.to_pylist()
