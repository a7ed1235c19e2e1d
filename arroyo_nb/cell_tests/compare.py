"""Rows that came out against rows that were expected.

Rows are a bag: each is there as often as it is there, in no order. A number with a
fraction may be off by a little. What is left on both sides is put side by side where
both speak of the same thing, so that the cells are seen that differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from enum import Enum
from math import isclose, isnan
from typing import Any, TypeAlias

RELATIVE = 1e-9
"""How far a FLOAT or DOUBLE may be off where no distance is named, as a share of it."""

MOST_MATCHED = 200
"""Rows of one key that are matched in the best way; more of them in their order."""

MOST_PAIRED = 300
"""More rows that are left on both sides are not put side by side by likeness."""

Row: TypeAlias = tuple[Any, ...]
Same: TypeAlias = Callable[[Any, Any], bool]


class Mark(Enum):
    """What is with a line of a difference; its value is its sign."""

    SAME = " "
    CHANGED = "~"
    MISSING = "-"
    UNEXPECTED = "+"


@dataclass(frozen=True)
class DiffLine:
    """A row of a difference.

    Parameters
    ----------
    mark
        What is with it.
    expected
        The row that was expected; None: it was not.
    found
        The row that came out; None: it did not.
    changed
        Of a changed one the places of the cells that differ.
    """

    mark: Mark
    expected: Row | None
    found: Row | None
    changed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Difference:
    """How what came out differs from what was expected.

    Parameters
    ----------
    summary
        In one sentence.
    columns
        The names of the columns that were compared.
    lines
        The rows; none where it is told by the sentence alone.
    is_of_columns
        The result has other columns than the expectation names: no row was compared.
    """

    summary: str
    columns: tuple[str, ...] = ()
    lines: tuple[DiffLine, ...] = ()
    is_of_columns: bool = False


def same_value(tolerance: float | None = None) -> Same:
    """What says whether a value that came out is the expected one.

    Parameters
    ----------
    tolerance
        How far a number with a fraction may be off; None: by a billionth of it.

    >>> same_value()(0.3, 0.1 + 0.2), same_value()(1, 2), same_value(0.01)(1.33, 4 / 3)
    (True, False, True)
    """

    def same(expected: Any, found: Any) -> bool:
        if isinstance(expected, Mapping) and isinstance(found, Mapping):
            return expected.keys() == found.keys() and all(
                same(value, found[key]) for key, value in expected.items()
            )
        if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
            return len(expected) == len(found) and all(map(same, expected, found))
        if isinstance(expected, bool) or isinstance(found, bool):
            return expected is found
        if isinstance(found, float) and isinstance(expected, int | float | Decimal):
            return _is_close(float(expected), found, tolerance)
        return bool(expected == found)

    return same


def _is_close(expected: float, found: float, tolerance: float | None) -> bool:
    if isnan(expected) or isnan(found):
        return isnan(expected) and isnan(found)
    if tolerance is None:
        return isclose(expected, found, rel_tol=RELATIVE, abs_tol=1e-12)
    # 1.33 is within 0.01 of 1.34, though neither is a number of the machine.
    return isclose(expected, found, rel_tol=0, abs_tol=tolerance * (1 + RELATIVE))


def difference(
    columns: Sequence[str],
    expected: Sequence[Row],
    found: Sequence[Row],
    *,
    ordered: bool = False,
    tolerance: float | None = None,
) -> Difference | None:
    """How rows differ; None: they do not.

    Parameters
    ----------
    columns
        Their names.
    expected, found
        The rows, with as many values as there are columns.
    ordered
        Whether their order counts.
    tolerance
        As of :func:`same_value`.
    """
    same = same_value(tolerance)
    if ordered:
        lines = _ordered(expected, found, same)
    else:
        lines = _unordered(expected, found, same)
    if all(line.mark is Mark.SAME for line in lines):
        return None
    is_bag_same = ordered and _are_matched(expected, found, same)
    summary = "the rows come in another order" if is_bag_same else _summary(lines)
    return Difference(summary, tuple(columns), tuple(lines))


def _summary(lines: Sequence[DiffLine]) -> str:
    counts = [
        (Mark.MISSING, "missing"),
        (Mark.UNEXPECTED, "unexpected"),
        (Mark.CHANGED, "with other values"),
    ]
    said = []
    for mark, words in counts:
        number = sum(line.mark is mark for line in lines)
        if number:
            said.append(f"{number:,} {'row' if number == 1 else 'rows'} {words}")
    return ", ".join(said)


def _are_matched(expected: Sequence[Row], found: Sequence[Row], same: Same) -> bool:
    matches = matched(expected, found, same)
    return len(expected) == len(found) == len(matches)


def matched(
    expected: Sequence[Row], found: Sequence[Row], same: Same
) -> dict[int, int]:
    """The expected rows that came out: the place of each, and that of its row; as many
    as there can be."""
    groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((expected, found)):
        for number, row in enumerate(rows):
            groups[_exact(row)][side].append(number)
    pairs: dict[int, int] = {}
    for left, right in groups.values():
        pairs |= _matching(left, right, lambda e, f: same(expected[e], found[f]))
    return pairs


def _matching(
    left: Sequence[int], right: Sequence[int], fits: Callable[[int, int], bool]
) -> dict[int, int]:
    """The largest matching of two sides (Kuhn's augmenting paths)."""
    if max(len(left), len(right)) > MOST_MATCHED:
        return _first_fit(left, right, fits)
    partner: dict[int, int] = {}

    def augment(expected: int, seen: set[int]) -> bool:
        for found in right:
            if found in seen or not fits(expected, found):
                continue
            seen.add(found)
            if found not in partner or augment(partner[found], seen):
                partner[found] = expected
                return True
        return False

    for expected in left:
        augment(expected, set())
    return {expected: found for found, expected in partner.items()}


def _first_fit(
    left: Sequence[int], right: Sequence[int], fits: Callable[[int, int], bool]
) -> dict[int, int]:
    free, pairs = dict.fromkeys(right), dict[int, int]()
    for expected in left:
        found = next((number for number in free if fits(expected, number)), None)
        if found is not None:
            pairs[expected] = found
            del free[found]
    return pairs


def _exact(value: Any) -> Any:
    """What must be equal for two values to be the same: all but the numbers that may be
    off."""
    if isinstance(value, tuple | list):
        return tuple(map(_exact, value))
    if isinstance(value, Mapping):
        return tuple(sorted((key, _exact(part)) for key, part in value.items()))
    if isinstance(value, bool | float):  # True is 1 for a dict
        return type(value), value if isinstance(value, bool) else 0
    return value


def _unordered(
    expected: Sequence[Row], found: Sequence[Row], same: Same
) -> list[DiffLine]:
    pairs = matched(expected, found, same)
    return _paired_lines(expected, found, pairs, same)


def _paired_lines(
    expected: Sequence[Row], found: Sequence[Row], pairs: Mapping[int, int], same: Same
) -> list[DiffLine]:
    """A line for each row, where some pairs are the same."""
    taken = set(pairs.values())
    missing = [n for n in range(len(expected)) if n not in pairs]
    unexpected = [n for n in range(len(found)) if n not in taken]
    partner = _aligned(expected, found, missing, unexpected, same)
    lines: list[DiffLine] = []
    for number, row in enumerate(expected):
        if number in pairs:
            lines.append(DiffLine(Mark.SAME, row, found[pairs[number]]))
        elif number in partner:
            lines.append(_changed(row, found[partner[number]], same))
        else:
            lines.append(DiffLine(Mark.MISSING, row, None))
    left = set(partner.values())
    lines += [
        DiffLine(Mark.UNEXPECTED, None, found[n]) for n in unexpected if n not in left
    ]
    return lines


def _changed(expected: Row, found: Row, same: Same) -> DiffLine:
    places = (
        n
        for n, (e, f) in enumerate(zip(expected, found, strict=True))
        if not same(e, f)
    )
    return DiffLine(Mark.CHANGED, expected, found, frozenset(places))


def _ordered(
    expected: Sequence[Row], found: Sequence[Row], same: Same
) -> list[DiffLine]:
    if len(expected) == len(found) and all(map(same, expected, found)):
        pairs = zip(expected, found, strict=True)
        return [DiffLine(Mark.SAME, *pair) for pair in pairs]
    lines: list[DiffLine] = []
    for tag, e, e_end, f, f_end in _opcodes(expected, found, same):
        left, right = expected[e:e_end], found[f:f_end]
        # What is the same in another place is out of its order. Two rows that are near
        # a third one need not be near each other.
        alike = range(len(left)) if tag == "equal" else ()
        places = {n: n for n in alike if same(left[n], right[n])}
        lines += _paired_lines(left, right, places, same)
    return lines


def _opcodes(
    expected: Sequence[Row], found: Sequence[Row], same: Same
) -> Iterable[tuple[str, int, int, int, int]]:
    labels: list[Row] = []

    def label(row: Row) -> int:
        number = next((n for n, other in enumerate(labels) if same(other, row)), None)
        if number is None:
            labels.append(row)
            number = len(labels) - 1
        return number

    left, right = [*map(label, expected)], [*map(label, found)]
    return SequenceMatcher(None, left, right, autojunk=False).get_opcodes()


def _aligned(
    expected: Sequence[Row],
    found: Sequence[Row],
    missing: Sequence[int],
    unexpected: Sequence[int],
    same: Same,
) -> dict[int, int]:
    """Which of the rows that are left speak of the same thing: those of the same key,
    where there is one; else those that are alike in at least half of their cells."""
    if not missing or not unexpected:
        return {}
    if width := _key_width(expected, found):
        return _matching(
            missing,
            unexpected,
            lambda e, f: (
                same(expected[e][:width], found[f][:width])
                and not same(expected[e], found[f])
            ),
        )
    if max(len(missing), len(unexpected)) > MOST_PAIRED:
        return {}
    scores = [
        (sum(map(same, expected[e], found[f])), -abs(e - f), e, f)
        for e in missing
        for f in unexpected
    ]
    cells = len(expected[0])
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for score, _, e, f in sorted(scores, reverse=True):
        is_alike = 0 < score < cells and 2 * score >= cells
        if is_alike and e not in pairs and f not in taken:
            pairs[e] = f
            taken.add(f)
    return pairs


def _key_width(expected: Sequence[Row], found: Sequence[Row]) -> int:
    """How many of the first columns tell each row from the others, on both sides; 0:
    there is no such key."""
    for width in range(1, len(expected[0])):
        if any(isinstance(row[width - 1], float) for row in (*expected, *found)):
            return 0
        keys = [[_hashable(row[:width]) for row in rows] for rows in (expected, found)]
        if all(len(set(side)) == len(side) for side in keys):
            return width if set(keys[0]) & set(keys[1]) else 0
    return 0


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_hashable, value))
    if isinstance(value, Mapping):
        return tuple(sorted((key, _hashable(part)) for key, part in value.items()))
    return value
