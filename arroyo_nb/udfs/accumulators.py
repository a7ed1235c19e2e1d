"""User-defined aggregates that keep one object of a group, however many rows it has.

An object takes in a row, gives one back, and is merged with another of its group: those
of a batch with that of the state. So the state has a row for each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall, Kernel, Selection
from arroyo_nb.changelog.zset import int64s
from arroyo_nb.lazy_imports import np, pa
from arroyo_nb.udfs.planned_kernel import PlannedKernel

if TYPE_CHECKING:
    from arroyo_nb.changelog.multisets import Bags
    from arroyo_nb.udfs.definition import Udf

_OBJECT = "0"
"""Where a bag has its first value."""


def kernel(udf: Udf) -> Kernel:
    """How an aggregate that is a class is computed."""
    unloaded = PlannedKernel(udf, _loaded)
    return Kernel(
        multiset=unloaded, keeps_nulls=True, bag=partial(_object_bag, unloaded)
    )


def _object_bag(of: PlannedKernel | Accumulators, selection: Selection) -> ObjectBag:
    return ObjectBag(selection, of.name, of)


def _loaded(udf: Udf) -> Accumulators:
    return Accumulators(udf.name, udf.batch_call(), udf.arrow_types, udf.takes_nulls)


@dataclass(frozen=True)
class Accumulators:
    """The kernel in a worker.

    Parameters
    ----------
    name
        The aggregate's.
    calls
        Calls the methods of its class.
    types
        Of its arguments; a decimal keeps its digits.
    keeps_nulls
        Which arguments may be NULL: else a row is left out.
    """

    name: str
    calls: Any
    types: Sequence[pa.DataType]
    keeps_nulls: Sequence[bool]

    def __call__(self, bags: Bags, call: AggregateCall) -> pa.Array:
        if call.distinct:  # what is kept is the values, each once
            columns = [bags.column(place) for place in range(len(self.types))]
            objects = self.objects(columns, bags.slot, np.ones_like(bags.slot))
        else:
            kept = bags.rows[_OBJECT].to_pylist()
            objects = dict(zip(bags.slot.tolist(), kept, strict=True))
        states = [objects.get(slot) for slot in range(bags.slots)]
        return self.calls.finished(states).cast(call.type)

    def objects(
        self, columns: Sequence[pa.Array], slots: Ints, weights: Ints
    ) -> dict[int, bytes]:
        """The object of each slot, which has taken in its rows."""
        counts = self._counted(columns)
        given = [
            column.take(pa.array(counts)).cast(
                column.type if pa.types.is_decimal(type_) else type_
            )
            for column, type_ in zip(columns, self.types, strict=True)
        ]
        found: dict[int, bytes] = self.calls.accumulated(
            given, slots[counts].tolist(), weights[counts].tolist()
        )
        return found

    def _counted(self, columns: Sequence[pa.Array]) -> Ints:
        """The rows that count, by their positions."""
        valid = np.ones(len(columns[0]), np.bool_)
        for column, keeps in zip(columns, self.keeps_nulls, strict=True):
            if not keeps and column.null_count:
                valid &= column.is_valid().to_numpy(zero_copy_only=False)
        return np.flatnonzero(valid)


@dataclass(frozen=True)
class ObjectBag:
    """What is kept: a table of slots, each with its object.

    Parameters
    ----------
    selection
        The rows and columns that are taken in.
    name
        The aggregate's.
    of
        What takes them in.
    """

    selection: Selection
    name: str
    of: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectBag) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        # The name of the table in saved states: another wording refuses them.
        return f"{self.name} of {self.selection}"

    def schema(self, rows: pa.Schema) -> pa.Schema:  # noqa: ARG002
        """The columns: slot, object, weight; as those of any bag."""
        return pa.schema(
            [(SLOT, pa.int64()), (_OBJECT, pa.binary()), (WEIGHT, pa.int64())]
        )

    def of_rows(self, rows: pa.Table, slots: Ints, weights: Ints) -> pa.Table:
        """The objects of a batch of rows, whose groups are ``slots``."""
        of: Accumulators = self.of
        at, columns = self.selection.rows_of(rows)
        columns = columns[: len(of.types)]
        return self._table(of.objects(columns, slots[at], weights[at]), rows.schema)

    def merged(self, bag: pa.Table) -> pa.Table:
        """One object of each slot."""
        states: dict[int, list[bytes]] = {}
        objects = bag[_OBJECT].to_pylist()
        for slot, state in zip(int64s(bag[SLOT]).tolist(), objects, strict=True):
            states.setdefault(slot, []).append(state)
        merged = {slot: self.of.calls.merged(some) for slot, some in states.items()}
        return self._table(merged, bag.schema)

    def _table(self, objects: dict[int, bytes], rows: pa.Schema) -> pa.Table:
        slots = sorted(objects)
        parts = [slots, [objects[slot] for slot in slots], [1] * len(slots)]
        schema = self.schema(rows)
        arrays = (pa.array(p, f.type) for p, f in zip(parts, schema, strict=True))
        return pa.table([*arrays], schema=schema)
