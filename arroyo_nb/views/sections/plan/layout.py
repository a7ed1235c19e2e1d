"""Where the operators of a plan stand: in layers from the sources down to the sink.

An operator is in the layer right above the lowest of its readers' layers that is
highest: a tree has no line longer than one layer. Where a view is read twice one of its
lines may pass layers; it then has a place of its own in each, so that no line runs
through a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arroyo_nb.run.observe.snapshot import PlanStep


@dataclass(frozen=True)
class Place:
    """The layer, from 0 at the top, and the column, which may lie between two."""

    layer: int
    column: float


@dataclass(frozen=True)
class Line:
    """From an operator to one that reads it, over places in the layers between."""

    source: int
    reader: int
    over: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Places by the numbers of the steps, the lines between them, and how many layers
    and columns there are."""

    places: Mapping[int, Place]
    lines: tuple[Line, ...]
    layers: int
    columns: int


def layout(steps: Sequence[PlanStep]) -> Layout:
    """Place the steps of a plan, inputs before their readers."""
    depths = _depths(steps)
    lowest = max(depths.values(), default=0)
    by_number = {step.number: step for step in steps}
    placed: dict[int, float] = {}
    passing: dict[tuple[int, int, int], float] = {}
    free = 0

    def place(number: int) -> float:
        """The column of a step: the middle of what is above it."""
        nonlocal free
        above = []
        for index, source in enumerate(by_number[number].inputs):
            is_owner = source not in placed and depths[source] == depths[number] + 1
            if is_owner:
                above.append(place(source))
            elif depths[source] > depths[number] + 1:
                passing[number, index, source] = free
                above.append(float(free))
                free += 1
        if above:
            placed[number] = (min(above) + max(above)) / 2
        else:
            placed[number] = float(free)
            free += 1
        return placed[number]

    # From the sink; what only a passing line leads to is placed after the others.
    for step in reversed(steps):
        if step.number not in placed:
            place(step.number)
    places = {
        number: Place(lowest - depths[number], column)
        for number, column in placed.items()
    }
    places = _apart(places)
    lines = []
    for step in steps:
        for index, source in enumerate(step.inputs):
            column = passing.get((step.number, index, source))
            between = range(places[source].layer + 1, places[step.number].layer)
            over = (
                tuple(Place(layer, column) for layer in between)
                if column is not None
                else ()
            )
            lines.append(Line(source, step.number, over))
    return Layout(places, tuple(lines), lowest + 1 if steps else 0, max(free, 1))


def _depths(steps: Sequence[PlanStep]) -> dict[int, int]:
    """How many lines the longest way to a sink has, by the number of a step."""
    depths = {step.number: 0 for step in steps}
    for step in reversed(steps):
        for source in step.inputs:
            depths[source] = max(depths[source], depths[step.number] + 1)
    return depths


def _apart(places: Mapping[int, Place]) -> dict[int, Place]:
    """Places such that two of a layer are at least a column apart."""
    moved: dict[int, Place] = {}
    ordered = sorted(places.items(), key=lambda item: (item[1].layer, item[1].column))
    last: Place | None = None
    for number, place in ordered:
        column = place.column
        if last is not None and last.layer == place.layer:
            column = max(column, last.column + 1)
        last = moved[number] = Place(place.layer, column)
    return moved
