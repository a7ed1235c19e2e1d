"""Which rows are the same: dense group numbers for columns of any type.

Every kernel of the changelog groups and matches rows by number. A column becomes
codes (equal values, equal codes) by Arrow's dictionary encoding; several columns
become one by pairing codes and encoding again; a struct is its fields; a list is the
bytes of its elements' codes. Numbers are given in order of first appearance: rows of
a state put before the rows of a batch keep their positions, and new keys follow.

Equality is that of GROUP BY: NULL is NULL, NaN is NaN, and -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from arroyo_nb.lazy_imports import np, npt, pa, pc, pt

Ints: TypeAlias = "npt.NDArray[np.int64]"
"""Numbers of groups, positions or weights."""


def group_ids(columns: Sequence[pa.Array], rows: int) -> Ints:
    """The number of each row's group, dense from 0 in order of first appearance.

    Parameters
    ----------
    columns
        Arrays, chunked or not, of equal length; none means one group.
    rows
        Their length.

    Examples
    --------
    >>> keys = [pa.array(["b", None, "b", None]), pa.array([1, 2, 1, 3])]
    >>> group_ids(keys, 4).tolist()
    [0, 1, 0, 2]
    """
    if not columns:
        return np.zeros(rows, np.int64)
    # Numbers are the same in any order of the columns; where the first ones tell all
    # rows apart, the others are not looked at.
    first, *others = sorted(columns, key=_effort)
    ids = _codes(first)
    for column in others:
        if size(ids) == rows:
            break
        codes = _codes(column)
        # Dense again after each column: so the product is at most the rows squared, and
        # not that of the columns' sizes, which soon overflows.
        ids = _encode(pa.array(ids * (codes.max(initial=0) + 1) + codes))
    return ids


def subgroup_ids(groups: Ints, columns: Sequence[pa.Array]) -> Ints:
    """Group numbers of rows that already lie in numbered ``groups``."""
    return group_ids([pa.array(groups), *columns], len(groups))


def size(ids: Ints) -> int:
    """How many groups there are."""
    return int(ids.max(initial=-1)) + 1


def first_rows(ids: Ints) -> Ints:
    """Position of the first row of each group."""
    first = np.empty(size(ids), np.int64)
    # Of several values for a place NumPy keeps the last one, so they are written
    # backwards.
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return first


def same(
    left: Sequence[pa.Array], right: Sequence[pa.Array], rows: int
) -> npt.NDArray[np.bool_]:
    """Which of ``rows`` rows are equal in two lists of the same columns."""
    equal = np.ones(rows, np.bool_)
    for a, b in zip(left, right, strict=True):
        equal &= _same_values(whole(a), whole(b))
    return equal


def _same_values(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    if pt.is_nested(a.type) or pt.is_null(a.type) or pt.is_interval(a.type):
        codes = _codes(pa.concat_arrays([a, b]))
        return np.equal(codes[: len(a)], codes[len(a) :])
    # Arrow's equal() is that of IEEE 754, where NaN is no NaN. Taken together with NULL
    # here, the two are told apart again below.
    both = pc.and_(a.is_null(nan_is_null=True), b.is_null(nan_is_null=True))
    equal = pc.or_(pc.fill_null(pc.equal(a, b), False), both)
    if pt.is_floating(a.type):
        equal = pc.and_(equal, pc.equal(a.is_null(), b.is_null()))
    return np.asarray(equal.to_numpy(zero_copy_only=False), np.bool_)


def normalised(column: pa.Array) -> pa.Array:
    """The one spelling of equal values: -0.0 becomes 0.0, and every NaN the same."""
    if not pt.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), np.nan, pc.add(column, 0.0)).cast(column.type)


def whole(column: pa.Array) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def listed(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The elements of lists or maps, one after the other, and how many each has; a map
    is a list of pairs, and NULL has none."""
    if pt.is_map(column.type):
        entries = pa.struct([column.type.key_field, column.type.item_field])
        column = column.cast(pa.list_(entries))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return pc.list_flatten(column), lengths.astype(np.int64)


def _chunks(column: pa.Array) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _effort(column: pa.Array) -> int:
    """What comes first is quick to look at, and tells many rows apart."""
    type_ = column.type
    if pt.is_temporal(type_):
        return 0
    if pt.is_primitive(type_):
        return 1
    return 3 if pt.is_nested(type_) else 2


def _codes(column: pa.Array) -> Ints:
    type_ = column.type
    if pt.is_null(type_):
        return np.zeros(len(column), np.int64)
    if pt.is_dictionary(type_):
        return _codes(column.cast(type_.value_type))
    if pt.is_nested(type_):
        return _nested_codes(whole(column))
    return _encode(normalised(column))


def _encode(column: pa.Array) -> Ints:
    # "encode": NULL gets a code like any value, as GROUP BY has it.
    encoded = _chunks(column.dictionary_encode("encode"))
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded]
    return np.concatenate(codes or [np.empty(0)]).astype(np.int64)


def _nested_codes(column: pa.Array) -> Ints:
    if pt.is_struct(column.type):
        return group_ids([column.is_valid(), *column.flatten()], len(column))
    return _encode(_bytes_of_lists(column))


def _bytes_of_lists(column: pa.Array) -> pa.Array:
    """One binary value per list: the codes of its elements, four bytes each."""
    elements, lengths = listed(column)
    # Codes are of this call only, which is enough: no bytes outlive it.
    codes = _codes(elements).astype("<i4")
    ends = np.cumsum(lengths) * codes.itemsize
    validity = column.is_valid().buffers()[1] if column.null_count else None
    buffers = [validity, pa.py_buffer(np.r_[0, ends]), pa.py_buffer(codes)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
