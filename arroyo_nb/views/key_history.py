"""What happened to a row of an updating result, in a cell beside it."""

from __future__ import annotations

from collections.abc import Mapping

from arroyo_nb.run.observe.snapshot import KeyHistory, Snapshot
from arroyo_nb.views.formatting import column, count, escaped
from arroyo_nb.views.inert import SOFT
from arroyo_nb.views.selection import pick
from arroyo_nb.views.sparkline import bars, sparkline

NAME_CHARS = 24


def histories_by_key(snapshot: Snapshot) -> Mapping[int, KeyHistory]:
    """The histories that the picture has."""
    return {history.key: history for history in snapshot.histories}


def heading(snapshot: Snapshot) -> str:
    """What stands above the histories."""
    names = [history.column for history in snapshot.histories if history.column]
    return f"history of {escaped(names[0], NAME_CHARS)}" if names else "history"


def in_words(history: KeyHistory) -> str:
    """How often the row changed.

    >>> in_words(KeyHistory(1, 8, 5, is_created=True)), in_words(
    ...     KeyHistory(1, 1, 5, is_created=True)
    ... )
    ('changed 7×', 'new')
    """
    return f"changed {history.updates:,}×" if history.updates else "new"


def live_history(snapshot: Snapshot, history: KeyHistory | None) -> str:
    """The values as a line and how often they changed; a click selects the row."""
    if history is None:
        return ""
    said = in_words(history)
    drawn = sparkline(history.numbers, _spoken(history))
    is_chosen = snapshot.selected is not None and snapshot.selected.key == history.key
    attributes = pick(f"key {history.key}", pressed=is_chosen)
    return f'<span class="pick history"{attributes}>{drawn}{said}</span>'


def static_history(history: KeyHistory | None) -> str:
    """The same in characters."""
    if history is None:
        return ""
    drawn = bars(history.numbers)
    said = f'<span style="{SOFT}">{in_words(history)}</span>'
    return f"{drawn} {said}" if drawn else said


def _spoken(history: KeyHistory) -> str:
    texts = column([history.numbers[0], history.numbers[-1]])
    first, last = ("NULL" if text is None else text for text in texts)
    values = count(len(history.numbers), "value")
    return f"{history.column} from {first} to {last}: {values}"
