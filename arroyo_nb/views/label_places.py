"""Places for the labels of a picture, such that no two of them overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from arroyo_nb.views.event_time_axis import text_width
from arroyo_nb.views.formatting import escaped

UP, DOWN = 10, 4
"""Pixels of a label above and below its base line."""

LINE = UP + DOWN
"""Pixels from one line of text to the next, at least."""


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether both have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


BOLD_KINDS = ("late", "keeps")
"""Classes of labels that are bold."""


def text_box(
    x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False
) -> Box:
    """What a text of 12 pixels covers, on the safe side."""
    width = text_width(text, bold=bold)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return Box(left, y - UP, left + width, y + DOWN)


@dataclass
class LabelPlaces:
    """The places that are taken within ``frame``, outside of which no label lies."""

    frame: Box
    taken: list[Box] = field(default_factory=list)

    def take(self, box: Box) -> None:
        """Keep labels away from a rectangle."""
        self.taken.append(box)

    def is_free(self, box: Box) -> bool:
        """Whether a label may lie there."""
        inside = (
            self.frame.left <= box.left
            and box.right <= self.frame.right
            and self.frame.top <= box.top
            and box.bottom <= self.frame.bottom
        )
        return inside and not any(map(box.overlaps, self.taken))

    def label(
        self,
        text: str,
        places: Sequence[tuple[float, float, str]],
        kind: str = "",
        gap: int = 0,
    ) -> str:
        """The text as SVG at the first free one of some places; empty: none is free.

        Parameters
        ----------
        text
            What to write.
        places
            Each with its x, the y of the base line, and the anchor.
        kind
            Class of the element.
        gap
            Pixels that stay free at its right.
        """
        for x, y, anchor in places:
            bold = kind in BOLD_KINDS
            if self.is_free(box := text_box(x, y, text, anchor, bold=bold)):
                self.take(replace(box, right=box.right + gap))
                look = f' class="{kind}"' if kind else ""
                at = "" if anchor == "start" else f' text-anchor="{anchor}"'
                return (
                    f'<text{look} x="{x:.1f}" y="{y:.1f}"{at}>'
                    f"{escaped(text, len(text))}</text>"
                )
        return ""


def spread_apart(
    wanted: Sequence[float], low: float, high: float, gap: float = LINE
) -> list[float]:
    """Positions as near to the wanted ones as they can be, ``gap`` pixels apart, in the
    same order; between ``low`` and ``high`` where there is room for all.

    >>> spread_apart([10, 12, 50], 0, 100)
    [10, 24, 50]
    >>> spread_apart([95, 99], 0, 100)
    [86, 100]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed: list[float] = []
    for index in order:
        least = placed[-1] + gap if placed else low
        placed.append(max(wanted[index], least))
    limit = high
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    result = [0.0] * len(wanted)
    for position, index in zip(placed, order, strict=True):
        result[index] = position
    return result
