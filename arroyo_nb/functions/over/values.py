"""Values of other rows: ``lag`` and ``lead`` of the partition, ``first_value``,
``last_value`` and ``nth_value`` of the frame."""

from __future__ import annotations

from arroyo_nb.changelog.keys import Ints
from arroyo_nb.functions.over.row import OverFunction
from arroyo_nb.lazy_imports import np, pa, pc
from arroyo_nb.over.frame import PARTITION
from arroyo_nb.over.pieces import Pieces
from arroyo_nb.over.rows import OverCall, OverRows


def _lag(rows: OverRows, call: OverCall) -> pa.Array:
    return _away(rows, call, -1)


def _lead(rows: OverRows, call: OverCall) -> pa.Array:
    return _away(rows, call, 1)


def _away(rows: OverRows, call: OverCall, sign: int) -> pa.Array:
    """The value so many rows further in the partition, those passed over not counted;
    where there is none, the default of the row."""
    steps = sign * (1 if call.parameter is None else call.parameter)
    steps = max(-len(rows), min(steps, len(rows)))
    position, present = rows.partitions.position, rows.present(call)
    before = np.r_[0, np.cumsum(present, dtype=np.int64)]
    whole = rows.partitions.whole
    if steps == 0:
        found = position
    else:
        # The first one counted forward is the one behind the row itself.
        place = before[position if steps < 0 else position + 1] + steps - (steps > 0)
        inside = (place >= before[whole.start]) & (place < before[whole.end])
        chosen = np.flatnonzero(present)
        found = np.full(len(rows), -1, np.int64)
        found[inside] = chosen[place[inside]]
    values = rows.values(call.arguments[0], found)
    if len(call.arguments) == 1:
        return values
    return pc.if_else(pa.array(found >= 0), values, rows.column(call.arguments[1]))


def _first_value(rows: OverRows, call: OverCall) -> pa.Array:
    frames, _ = _frames(rows, call)
    return _at(rows, call, np.zeros(len(rows), np.int64), frames)


def _last_value(rows: OverRows, call: OverCall) -> pa.Array:
    frames, sizes = _frames(rows, call)
    return _at(rows, call, sizes - 1, frames)


def _nth_value(rows: OverRows, call: OverCall) -> pa.Array:
    """From 1; a number below zero counts from the end, and there is no row 0, as
    DataFusion has it."""
    frames, sizes = _frames(rows, call)
    assert call.parameter is not None
    number = max(-len(rows) - 1, min(call.parameter, len(rows) + 1))
    place = sizes + number if number < 0 else np.full(len(rows), number - 1)
    return _at(rows, call, place, frames)


def _frames(rows: OverRows, call: OverCall) -> tuple[Pieces, Ints]:
    """The frames over the rows that are not passed over, and their sizes."""
    frames = rows.pieces(call.frame or PARTITION).among(rows.present(call))
    return frames, frames.sizes


def _at(rows: OverRows, call: OverCall, place: Ints, frames: Pieces) -> pa.Array:
    chosen, found = np.flatnonzero(rows.present(call)), frames.at(place)
    there = found >= 0
    found[there] = chosen[found[there]]
    return rows.values(call.arguments[0], found)


FUNCTIONS = (
    OverFunction(
        name="first_value",
        doc="the value of the first row of the frame",
        example="first_value(name) -> 'ann', 'ann', 'ann', 'ann', 'ann'",
        compute=_first_value,
        parameters=("value",),
        required=1,
        is_framed=True,
    ),
    OverFunction(
        name="lag",
        doc="the value of the row that is `offset` rows before, 1 if it is left out; "
        "else the default, or NULL",
        example="lag(name) -> NULL, 'ann', 'bob', 'ann', 'cy'",
        compute=_lag,
        parameters=("value", "offset", "default"),
        required=1,
    ),
    OverFunction(
        name="last_value",
        doc="the value of the last row of the frame, which with ORDER BY ends at the "
        "row's peers",
        example="last_value(name) -> 'ann', 'bob', 'ann', 'cy', 'bob'",
        compute=_last_value,
        parameters=("value",),
        required=1,
        is_framed=True,
    ),
    OverFunction(
        name="lead",
        doc="the value of the row that is `offset` rows behind, 1 if it is left out; "
        "else the default, or NULL",
        example="lead(seats, 2, 0) -> 3, 5, 1, 0, 0",
        compute=_lead,
        parameters=("value", "offset", "default"),
        required=1,
    ),
    OverFunction(
        name="nth_value",
        doc="the value of row `n` of the frame, from 1; below zero from the end",
        example="nth_value(seats, 2) -> NULL, 5, 5, 5, 5",
        compute=_nth_value,
        parameters=("value", "n"),
        required=2,
        is_framed=True,
    ),
)
