"""State as a few Arrow tables, and as bytes that say what they are.

The bytes are Arrow IPC streams one after the other, each with its table's name and
:data:`FORMAT` in its schema. Columns are named by their place in the operator: what
they mean is compared before a query starts (:mod:`arroyo_nb.state.identity`), and so
before any worker opens a state. Bytes of other tables or columns are refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.buckets import buckets_of
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.zset import int64s, with_column
from arroyo_nb.errors import RunProblem

State: TypeAlias = Mapping[str, pa.Table]
"""Tables by name. Rows of all but the first may point into it with ``_slot``."""

COMPRESSED_BYTES = 64 * 2**10
"""From which size on a table is compressed. On its way to the state store and back the
JVM copies each byte several times, which takes longer than LZ4 does; what is small is
quick as it is. Readers need not know: an Arrow stream says itself how it is written."""

FORMAT = "2"
"""Version of the bytes, and of the names of tables and columns in them."""


class Operator:
    """A frozen dataclass that travels as its fields, without what it has cached."""

    def buckets(self, state: State, number: int) -> Ints:
        """The bucket of each row of a state's first table, of so many buckets."""
        main = next(iter(state.values()))
        return buckets_of([main[key] for key in self.group_keys], len(main), number)

    @property
    def group_keys(self) -> Sequence[str]:
        """The columns of a state's first table that name a group."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # cached_property writes into the same __dict__, and what it cached (layouts,
        # schemas) is cheaper to compute in a worker than to send to each task.
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return {name: self.__dict__[name] for name in names}


@dataclass(frozen=True)
class Layout:
    """The tables of an operator's state.

    Parameters
    ----------
    tables
        Name and schema of each table, the first of which others point into.
    may_lack
        The columns that bytes may not have, the last ones of a table: they are NULL
        then.
    """

    tables: tuple[tuple[str, pa.Schema], ...]
    may_lack: frozenset[str] = frozenset()

    def empty(self) -> State:
        """The state before the first row."""
        return {name: schema.empty_table() for name, schema in self.tables}

    def to_bytes(self, state: State) -> bytes:
        """The state as bytes that :meth:`from_bytes` gives back."""
        sink = pa.BufferOutputStream()
        self.write(state, sink)
        return bytes(sink.getvalue())

    def from_bytes(self, blob: bytes) -> State:
        """The state that was written; the buffers of a small one are those of ``blob``.

        Raises
        ------
        RunProblem
            When the bytes are the state of something else.
        """
        return self.read(pa.BufferReader(blob))

    def write(
        self, state: State, sink: pa.NativeFile, *, compressed: bool = True
    ) -> None:
        """Add the bytes of a state to a file."""
        for name, schema in self.tables:
            described = schema.with_metadata(self._described(name))
            put_stream(sink, state[name].cast(described), compressed=compressed)

    def read(self, source: pa.NativeFile) -> State:
        """The state whose bytes are next in a file, as :meth:`from_bytes` gives it."""
        # Each stream has an end mark: the reader then stands at the next one.
        state = {}
        for name, schema in self.tables:
            table = self._completed(read_stream(source, name), schema)
            self._check(name, schema, table.schema)
            state[name] = table.replace_schema_metadata(None)
        return state

    def _completed(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The table with the columns that it may lack, behind those that it has."""
        for field in list(schema)[table.num_columns :]:
            if field.name in self.may_lack and field.name not in table.column_names:
                nulls = pa.nulls(len(table), field.type)
                table = table.append_column(field, nulls)
        return table

    def _described(self, name: str) -> dict[str, str]:
        return {"format": FORMAT, "table": name}

    def _check(self, name: str, expected: pa.Schema, found: pa.Schema) -> None:
        said = {k.decode(): v.decode() for k, v in (found.metadata or {}).items()}
        for key, value in self._described(name).items():
            if said.get(key) != value:
                raise _refused(f"its {key} is {said.get(key)!r}, not {value!r}")
        for field in expected:
            index = found.get_field_index(field.name)
            if index < 0:
                raise _refused(f"{name} has no column {field.name!r}")
            if found.field(index).type != field.type:
                was = found.field(index).type
                raise _refused(f"{name}.{field.name} is {was}, not {field.type}")
        # Last, as it says least: also a right set of columns in another order is
        # refused, as rows are read by position.
        if found.names != expected.names:
            raise _refused(f"{name} has the columns {', '.join(found.names)}")


def put_stream(
    sink: pa.NativeFile, table: pa.Table, *, compressed: bool = True
) -> None:
    """Add a table to a file as an Arrow IPC stream of one batch."""
    # In one chunk, or each batch of the query would leave its own for the next one to
    # read.
    is_large = table.nbytes >= COMPRESSED_BYTES
    codec = "lz4" if compressed and is_large else None
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())


def read_stream(source: pa.NativeFile, name: str) -> pa.Table:
    """The table of the Arrow IPC stream that is next in a file.

    Raises
    ------
    RunProblem
        When there is none: ``name`` says in the message what was looked for.
    """
    try:
        return pa.ipc.open_stream(source).read_all()
    except pa.ArrowInvalid as error:
        raise _refused(f"{name} cannot be read: {error}") from error


def _refused(reason: str) -> RunProblem:
    return RunProblem(
        f"the saved state does not belong to this query: {reason}",
        hint="start the changed query with a new checkpoint, or run the old one",
    )


def stacked(states: Sequence[State], layout: Layout) -> State:
    """Partial states one after the other; the same key may then occur many times."""
    main, *others = [name for name, _ in layout.tables]
    sizes = [len(state[main]) for state in states]
    offsets = np.r_[0, np.cumsum(sizes)].tolist()
    tables = {main: _concat([s[main] for s in states], layout, main)}
    for name in others:
        moved = [
            with_slots(s[name], int64s(s[name][SLOT]) + offset)
            for s, offset in zip(states, offsets, strict=False)
        ]
        tables[name] = _concat(moved, layout, name)
    return tables


def with_slots(rows: pa.Table, slots: Ints) -> pa.Table:
    """Rows that point at other slots."""
    return with_column(rows, SLOT, pa.array(slots))


def groups_where(state: Mapping[str, pa.Table], keep: npt.NDArray[np.bool_]) -> State:
    """Those groups of a state for which ``keep`` is true, with what points at them."""
    (main, groups), *others = state.items()
    if keep.all():
        return state
    # The first table is what others point into (State): it is filtered first and the
    # slots of the others are counted anew.
    tables = {main: groups.filter(pa.array(keep))}
    moved = np.cumsum(keep) - 1
    for name, rows in others:
        slot = int64s(rows[SLOT])
        there = keep[slot]
        tables[name] = with_slots(rows.filter(pa.array(there)), moved[slot[there]])
    return tables


def split(state: State, buckets: Ints) -> Iterator[tuple[int, State]]:
    """One partial state per bucket that occurs.

    Parameters
    ----------
    buckets
        The bucket of each row of the first table.
    """
    (main, groups), *others = state.items()
    # Sorted once and cut into slices: a filter per bucket would read all rows for each
    # bucket.
    order = np.argsort(buckets, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    values, starts = np.unique(buckets[order], return_index=True)
    ends = np.r_[starts, len(order)][1:]
    groups = groups.take(pa.array(order))
    pointing = [(name, *_sorted_by_slot(rows, place)) for name, rows in others]
    for bucket, start, end in zip(values, starts, ends, strict=True):
        part = {main: groups.slice(start, end - start)}
        for name, rows, slots in pointing:
            first, last = np.searchsorted(slots, [start, end])
            piece = rows.slice(first, last - first)
            # Slots count from the first group of their own piece.
            part[name] = with_slots(piece, slots[first:last] - start)
        yield int(bucket), part


def _sorted_by_slot(rows: pa.Table, place: Ints) -> tuple[pa.Table, Ints]:
    slots = place[int64s(rows[SLOT])]
    order = np.argsort(slots, kind="stable")
    return rows.take(pa.array(order)), slots[order]


def _concat(tables: Sequence[pa.Table], layout: Layout, name: str) -> pa.Table:
    return pa.concat_tables([dict(layout.tables)[name].empty_table(), *tables])
