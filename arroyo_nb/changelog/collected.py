"""An aggregate of rows that were collected: a list of them for each group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.changelog.aggregate_plans import added, recipe
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.changelog.totals import counter_terms, digit_terms, is_counter


def aggregate_of_lists(call: AggregateCall, lists: pa.ListArray) -> pa.Array:
    """The value of the aggregate over the rows of each list.

    Parameters
    ----------
    call
        The aggregate.
    lists
        Of structs, whose fields are the columns that ``call`` reads; in any order. The
        value of an empty list is that of an empty group.

    Returns
    -------
    pa.Array
        As long as ``lists``, of the type of ``call``.
    """
    groups = len(lists)
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    slots = np.repeat(np.arange(groups), sizes)
    rows = pa.Table.from_struct_array(lists.flatten())
    once = np.ones(len(rows), np.int64)
    # Not that of an input that only appends: it keeps one value of a least or greatest.
    made = recipe(call, rows.schema, retracts=True)
    counters, hung = {}, {}
    if made.bag is not None:
        hung[str(made.bag)] = made.bag.of_rows(rows, slots, once)
    at, columns = made.selection.rows_of(rows)
    for total in made.totals:
        if is_counter(total.part):
            terms = counter_terms(total.part, columns, len(at))
            counters[str(total)] = added(groups, slots[at], terms)
        else:
            digits = digit_terms(total.part, columns, slots[at], once[at])
            hung[str(total)] = digits
    return made.finish(counters, hung, groups).cast(call.type)
