"""Typed events: a class of Python is a table, a schema of Arrow, and rows of both.

::

    from arroyo_nb import events

    @events.event
    @dataclass
    class Flight:
        flight: str
        at: datetime
        distance: int | None

    print(events.create_table(Flight, "flights", connector="kafka", topic="flights"))
    for batch in events.batches(Flight, flights):     # Arrow, 10,000 events each
        ...
    list(events.objects(Flight, run.table()))         # and back
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["batches", "create_table", "event", "objects", "schema"]

C = TypeVar("C", bound=type[Any])
T = TypeVar("T")


def event(cls: C) -> C:
    """Check that a class is one of events; it stays as it is.

    Its attributes are ``int``, ``float``, ``str``, ``bool``, ``bytes``, ``datetime``,
    ``date``, ``time``, ``timedelta``, ``Decimal``, ``UUID``, an Enum, another such
    class, ``list[T]``, ``dict[K, V]``, ``Any`` for JSON; ``T | None`` where NULL is a
    value; one of several classes, ``A | B``. ``Annotated[int, "SMALLINT"]`` and
    ``Annotated[Decimal, "DECIMAL(12, 2)"]`` say a type of SQL.

    Parameters
    ----------
    cls
        A dataclass, a model of pydantic, or a class that protoc made of a message.

    Raises
    ------
    CatalogProblem
        When an attribute has no type in SQL, with its name.
    """
    from arroyo_nb.events.definition import event_type

    event_type(cls)
    return cls


def schema(cls: type) -> pa.Schema:
    """The columns of a class of events in Arrow."""
    from arroyo_nb.events.definition import event_type

    return event_type(cls).schema


def create_table(
    cls: type,
    name: str,
    *,
    event_time: str | None = None,
    watermark: str = "5 seconds",
    **options: str,
) -> str:
    """A CREATE TABLE statement for a class of events.

    Parameters
    ----------
    cls
        The class.
    name
        The table's.
    event_time
        The attribute that is the event time; None: the only one that is a datetime.
    watermark
        How late rows may come, as in ``"5 seconds"``.
    **options
        Those of WITH; ``bootstrap_servers="..."``. Of one whose name has a dot write
        ``**{"source.offset": "earliest"}``.

    Raises
    ------
    CatalogProblem
        When the class has no such event time.
    """
    from arroyo_nb.events.definition import event_type

    return event_type(cls).create_table(name, options, event_time, watermark)


def batches(
    cls: type, events: Iterable[Any], *, rows: int = 10_000
) -> Iterator[pa.RecordBatch]:
    """Events as batches of Arrow, a column at a time.

    Parameters
    ----------
    cls
        Their class.
    events
        A list or an iterator of them.
    rows
        Events of a batch.

    Raises
    ------
    DataProblem
        For the first value that is not of its type: ``events[17].legs[0].origin``.
    """
    from arroyo_nb.events.definition import event_type

    return event_type(cls).batches(events, rows)


def objects(
    cls: type[T], rows: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]
) -> Iterator[T]:
    """Rows as objects of a class of events.

    Parameters
    ----------
    cls
        The class.
    rows
        A table or a batch, or several batches, such as :func:`batches` gives; with a
        column for each attribute. Others are left out.

    Raises
    ------
    DataProblem
        When a column is missing, or a value is not of its type.
    """
    from arroyo_nb.events.definition import event_type

    found = event_type(cls)
    if hasattr(rows, "schema"):
        return found.objects(rows)
    return chain.from_iterable(map(found.objects, rows))
