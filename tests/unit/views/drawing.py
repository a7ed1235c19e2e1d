"""What an SVG of the panel has in it, for tests of pictures."""

from __future__ import annotations

import math
import re
from itertools import combinations
from xml.etree import ElementTree

from arroyo_nb.views.event_time_axis import WIDTH
from arroyo_nb.views.label_places import Box, text_box

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
GEOMETRY = ("x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "rx")


def pictures(html: str) -> list[ElementTree.Element]:
    """The drawings of a page, parsed."""
    return [
        ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.S)
    ]


def height(svg: ElementTree.Element) -> float:
    """Pixels of a drawing."""
    return float(svg.get("viewBox", "").split()[3])


def labels(svg: ElementTree.Element) -> list[tuple[str, Box]]:
    """The texts of a drawing and what they cover; crosses of legends are marks."""
    found = []
    for each in svg.iter():
        if each.tag.endswith("}text") and each.text and each.text != "×":
            x, y = float(each.get("x", "0")), float(each.get("y", "0"))
            anchor = each.get("text-anchor", "start")
            found.append((each.text, text_box(x, y, each.text, anchor)))
    return found


def assert_is_sound(svg: ElementTree.Element) -> None:
    """All numbers are finite and inside of the frame, no label lies over another."""
    high = height(svg)
    for each in svg.iter():
        for name in GEOMETRY:
            value = each.get(name, "")
            assert "nan" not in value
            assert "inf" not in value
            numbers = [float(n) for n in NUMBER.findall(value)]
            assert all(map(math.isfinite, numbers))
            if name in ("x", "x1", "x2"):
                assert all(-1 <= n <= WIDTH + 1 for n in numbers), (name, value)
            if name in ("y", "y1", "y2"):
                assert all(-1 <= n <= high + 1 for n in numbers), (name, value)
    shown = labels(svg)
    for (a, box_a), (b, box_b) in combinations(shown, 2):
        assert not shrunk(box_a).overlaps(shrunk(box_b)), (a, b)


def shrunk(box: Box) -> Box:
    """What a text surely covers: the boxes of labels are on the safe side."""
    narrow = (box.right - box.left) * 0.06
    return Box(box.left + narrow, box.top + 2.5, box.right - narrow, box.bottom - 2)
