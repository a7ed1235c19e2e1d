"""The outputs of a script: tabs in the live panel, a few rows each in what stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import count, escaped

NAME_CHARS = 40

OTHER_ROWS = 3
"""Newest rows of another output that the snapshot in the notebook has."""

MOST_OTHERS = 8
"""Other outputs of which it has rows."""

WORD = "output"


def output_tabs(snapshot: Snapshot) -> str:
    """A tab for each output; empty: there is one only."""
    if len(snapshot.outputs) < 2:
        return ""
    tabs = "".join(
        f'<button type="button" role="tab" data-key="output{number}" '
        f'data-do="{WORD} {number}" aria-selected="{str(is_shown).lower()}" '
        f'tabindex="{0 if is_shown else -1}">{escaped(name, NAME_CHARS)}</button>'
        for number, name in enumerate(snapshot.outputs)
        for is_shown in [number == snapshot.output]
    )
    return f'<div class="tabs outputs" role="tablist" aria-label="outputs">{tabs}</div>'


def tab_panel(snapshot: Snapshot, drawn: str) -> str:
    """What a tab shows."""
    if len(snapshot.outputs) < 2:
        return drawn
    name = escaped(snapshot.outputs[snapshot.output], NAME_CHARS)
    return f'<div role="tabpanel" aria-label="output {name}">{drawn}</div>'


def chosen_output(message: str, outputs: int) -> int | None:
    """The output that a message of the page asks for; None: it asks for none.

    >>> chosen_output("output 1", 2), chosen_output("output 2", 2)
    (1, None)
    """
    word, _, number = message.partition(" ")
    if word != WORD or not number.isascii() or not number.isdigit():
        return None
    return int(number) if len(number) < 5 and int(number) < outputs else None


def other_outputs(
    first: Snapshot, snapshot: Callable[[int, int], Snapshot]
) -> tuple[Snapshot, ...]:
    """The pictures of the outputs beside the one that is shown.

    Parameters
    ----------
    first
        What is shown.
    snapshot
        Gives the picture of an output, by how many rows and its number.
    """
    numbers = (n for n in range(len(first.outputs)) if n != first.output)
    return tuple(
        snapshot(OTHER_ROWS, number)
        for number, _ in zip(numbers, range(MOST_OTHERS), strict=False)
    )


def output_heading(snapshot: Snapshot) -> str:
    """An output in a line: its name, how much it gave, and where its rows are."""
    name = snapshot.outputs[snapshot.output]
    number, noun = snapshot.output_rows, "change" if snapshot.updating else "row"
    where = f"{snapshot.handle}.table({snapshot.output})"
    kept = f" · {where}" if snapshot.rows_kept else ""
    return f"{name}: {count(number, noun)} out{kept}"


def output_lines(others: tuple[Snapshot, ...]) -> Iterator[str]:
    """The other outputs for a terminal."""
    return (output_heading(other) for other in others)
