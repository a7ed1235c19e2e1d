"""Frames as ranges of positions, against what the standard says of each row."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from arroyo_nb.over.aggregates import _members
from arroyo_nb.over.frame import Edge, OverFrame
from arroyo_nb.over.partitions import Partitions
from arroyo_nb.over.pieces import frame_pieces


def sorted_rows(random: Random) -> list[tuple[int, int]]:
    """Partition and rank of each row: partitions lie together, and peers in them."""
    rows = [(random.randrange(3), random.randrange(4)) for _ in range(15)]
    return sorted(rows[: random.randrange(16)])


def frame_at_random(random: Random) -> OverFrame:
    """Of ROWS or GROUPS; also one that is always empty."""
    places = [("preceding", n) for n in (None, 3, 1)] + [("preceding", 0)]
    places += [("following", n) for n in (1, 3, None)]
    start = random.randrange(6)
    end = random.randrange(max(start - 1, 1) if start != 3 else 3, 7)
    exclude = random.choice(["no others", "current row", "group", "ties"])
    unit = random.choice(["rows", "groups"])
    return OverFrame(unit, Edge(*places[start]), Edge(*places[end]), exclude)


def reached(edge: Edge, own: int, other: int, *, is_start: bool) -> bool:
    """Whether a row, by its number among rows or groups, is on the frame's side."""
    if edge.offset is None:
        return True
    signed = -int(edge.offset) if edge.side == "preceding" else int(edge.offset)
    return other >= own + signed if is_start else other <= own + signed


def members(rows: list[tuple[int, int]], frame: OverFrame, at: int) -> list[int]:
    """The rows of a frame, one by one."""
    groups = sorted(set(rows))
    numbers = (
        list(range(len(rows)))
        if frame.unit == "rows"
        else [groups.index(row) for row in rows]
    )
    found = []
    for place, row in enumerate(rows):
        if row[0] != rows[at][0]:
            continue
        own, other = numbers[at], numbers[place]
        inside = reached(frame.start, own, other, is_start=True) and reached(
            frame.end, own, other, is_start=False
        )
        is_peer = row == rows[at]
        gone = {
            "no others": False,
            "current row": place == at,
            "group": is_peer,
            "ties": is_peer and place != at,
        }[frame.exclude]
        found += [place] * (inside and not gone)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_a_frame_has_the_rows_that_it_says(seed: int) -> None:
    random = Random(seed)
    rows, frame = sorted_rows(random), frame_at_random(random)
    pairs = np.array(rows, np.int64).reshape(-1, 2)
    pieces = frame_pieces(frame, Partitions(pairs[:, 0], pairs[:, 1]), None)
    slots, positions = _members(pieces)
    for at in range(len(rows)):
        expected = members(rows, frame, at)
        assert sorted(positions[slots == at].tolist()) == expected, frame
        # In order: which one is first, and which one last, is a function of it.
        for place in range(len(expected) + 1):
            found = pieces.at(np.full(len(rows), place))[at]
            assert found == [*expected, -1][place], (frame, at, place)
        assert pieces.at(pieces.sizes - 1)[at] == [-1, *expected][-1]
