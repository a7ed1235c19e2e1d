"""User-defined aggregates that are called with all values of a group, as lists.

What is kept of a group is a bag of its values, as of ``array_agg``: a value that is
retracted leaves it, so that the result is as if its row had never come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.changelog.measures import AggregateCall, Kernel
from arroyo_nb.lazy_imports import np, pa, pc
from arroyo_nb.udfs.planned_kernel import PlannedKernel

if TYPE_CHECKING:
    from arroyo_nb.changelog.multisets import Bags
    from arroyo_nb.udfs.definition import Udf


def kernel(udf: Udf) -> Kernel:
    """How an aggregate UDF is computed."""
    return Kernel(multiset=PlannedKernel(udf, _loaded), keeps_nulls=True)


def _loaded(udf: Udf) -> GroupCall:
    return GroupCall(udf.batch_call(), udf.arrow_types, udf.takes_nulls)


@dataclass(frozen=True)
class GroupCall:
    """Calls a function with the values of groups.

    Parameters
    ----------
    call
        As :meth:`arroyo_nb.udfs.definition.Udf.batch_call` gives it.
    types
        Of the values of each argument; a decimal keeps its digits.
    keeps_nulls
        Whether the values of each argument may be NULL: else they are left out, of
        this argument alone.
    """

    call: Callable[..., pa.Array]
    types: Sequence[pa.DataType]
    keeps_nulls: Sequence[bool]

    def __call__(self, bags: Bags, call: AggregateCall) -> pa.Array:
        ordered = bags.in_order
        rows = pa.array(np.repeat(np.arange(len(ordered.slot)), ordered.weight))
        groups = np.repeat(ordered.slot, ordered.weight)
        lists = []
        for place, (type_, keeps) in enumerate(
            zip(self.types, self.keeps_nulls, strict=True)
        ):
            values, of = ordered.column(place).take(rows), groups
            if not keeps and values.null_count:
                valid = values.is_valid()
                values = values.filter(valid)
                of = groups[valid.to_numpy(zero_copy_only=False)]
            sizes = np.bincount(of, minlength=bags.slots)
            offsets = np.r_[0, np.cumsum(sizes)].astype(np.int32)
            if not pa.types.is_decimal(type_):
                values = pc.cast(values, type_)
            lists.append(pa.ListArray.from_arrays(pa.array(offsets), values))
        return self.call(*lists).cast(call.type)
