"""Numbers and shares of rows in the order of their partition: ``row_number``,
``rank``, ``ntile`` and their kin. They see the whole partition, whatever the frame."""

from __future__ import annotations

from arroyo_nb.changelog.keys import Ints
from arroyo_nb.functions.over.row import NUMBER, SHARE, OverFunction
from arroyo_nb.lazy_imports import np, pa
from arroyo_nb.over.rows import OverCall, OverRows


def _sizes(rows: OverRows) -> Ints:
    whole = rows.partitions.whole
    return whole.end - whole.start


def _row_number(rows: OverRows, _: OverCall) -> pa.Array:
    partitions = rows.partitions
    return pa.array(partitions.position - partitions.whole.start + 1)


def _rank(rows: OverRows, _: OverCall) -> pa.Array:
    partitions = rows.partitions
    return pa.array(partitions.peers.start - partitions.whole.start + 1)


def _dense_rank(rows: OverRows, _: OverCall) -> pa.Array:
    peers = rows.partitions.peers.number
    return pa.array(peers - peers[rows.partitions.whole.start] + 1)


def _percent_rank(rows: OverRows, _: OverCall) -> pa.Array:
    partitions = rows.partitions
    before = partitions.peers.start - partitions.whole.start
    return pa.array(before / np.maximum(_sizes(rows) - 1, 1))


def _cume_dist(rows: OverRows, _: OverCall) -> pa.Array:
    partitions = rows.partitions
    reached = partitions.peers.end - partitions.whole.start
    return pa.array(reached / _sizes(rows))


def _ntile(rows: OverRows, call: OverCall) -> pa.Array:
    """DataFusion's: a row goes by its share of the rows before it, where the standard
    makes the first buckets the longer ones."""
    sizes = _sizes(rows)
    buckets = np.minimum(min(call.parameter or 1, len(rows)), sizes)
    before = rows.partitions.position - rows.partitions.whole.start
    return pa.array(before * buckets // sizes + 1)


def _is_count(buckets: int) -> str | None:
    return None if buckets > 0 else "a positive integer"


FUNCTIONS = (
    OverFunction(
        name="cume_dist",
        doc="the share of rows that come before the row or are its peers",
        example="cume_dist() -> 0.2, 0.4, 0.6, 0.8, 1.0",
        compute=_cume_dist,
        result=SHARE,
    ),
    OverFunction(
        name="dense_rank",
        doc="the number of the row from 1; peers share one, and none is left out",
        example="dense_rank() -> 1, 2, 3, 4, 5",
        compute=_dense_rank,
        result=NUMBER,
    ),
    OverFunction(
        name="ntile",
        doc="which of so many buckets the row is in; they are of nearly equal size",
        example="ntile(2) -> 1, 1, 1, 2, 2",
        compute=_ntile,
        parameters=("buckets",),
        required=1,
        result=NUMBER,
        checks=_is_count,
    ),
    OverFunction(
        name="percent_rank",
        doc="rank() from 0 for the first row to 1 for the last one",
        example="percent_rank() -> 0.0, 0.25, 0.5, 0.75, 1.0",
        compute=_percent_rank,
        result=SHARE,
    ),
    OverFunction(
        name="rank",
        doc="the number of the row from 1; peers share that of the first of them",
        example="rank() -> 1, 2, 3, 4, 5",
        compute=_rank,
        result=NUMBER,
    ),
    OverFunction(
        name="row_number",
        doc="the number of the row from 1; peers are numbered by all their columns",
        example="row_number() -> 1, 2, 3, 4, 5",
        compute=_row_number,
        result=NUMBER,
    ),
)
