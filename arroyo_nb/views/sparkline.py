"""The values that a number had, as a line no higher than a text."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.views.formatting import escaped

WIDTH, HEIGHT = 64, 16
MARGIN = 2

BARS = "▁▂▃▄▅▆▇█"
BARS_SHOWN = 12
"""Values of a text: the newest."""


def sparkline(numbers: Sequence[float | None], label: str) -> str:
    """The values as an ``<svg>`` element, oldest at the left; a gap where there was
    none. Empty: there is nothing to compare.

    Parameters
    ----------
    numbers
        The values.
    label
        What they are, for who does not see them.
    """
    known = [n for n in numbers if n is not None]
    if len(numbers) < 2 or not known:
        return ""
    step = (WIDTH - 2 * MARGIN) / (len(numbers) - 1)
    points = [
        None if n is None else (MARGIN + i * step, _height(n, known))
        for i, n in enumerate(numbers)
    ]
    path, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        # A value with no neighbour is a line of no length, which a round cap shows.
        path.append(f"{pen}{_short(point[0])} {_short(point[1])}" + "h0" * (pen == "M"))
        pen = "L"
    last = points[-1]
    end = (
        f'<circle cx="{_short(last[0])}" cy="{_short(last[1])}" r="2"/>' if last else ""
    )
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escaped(label, 200)}">'
        f'<path d="{"".join(path)}"/>{end}</svg>'
    )


def bars(numbers: Sequence[float | None]) -> str:
    """The newest values as characters, for where no picture may be.

    >>> bars([1, 2, None, 8])
    '▁▂·█'
    """
    known = [n for n in numbers if n is not None]
    if len(numbers) < 2 or not known:
        return ""
    low, high = min(known), max(known)
    return "".join(
        "·" if n is None else BARS[_level(n, low, high)] for n in numbers[-BARS_SHOWN:]
    )


def _level(number: float, low: float, high: float) -> int:
    if not low < high < float("inf") or low == float("-inf"):
        return len(BARS) // 2
    return round((number / 2 - low / 2) / (high / 2 - low / 2) * (len(BARS) - 1))


def _height(number: float, known: Sequence[float]) -> float:
    low, high = min(known), max(known)
    room = HEIGHT - 2 * MARGIN
    if not low < high < float("inf") or low == float("-inf"):
        return HEIGHT / 2
    # Halved before they are subtracted: the largest floats have no difference.
    return MARGIN + room * (1 - (number / 2 - low / 2) / (high / 2 - low / 2))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
