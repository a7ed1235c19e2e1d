"""The watermark: how it follows the events of each source, and how late rows come."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import escaped
from arroyo_nb.views.inert import CELL, SOFT, WIDE_CELL, image
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.sections.watermark.curves import strip
from arroyo_nb.views.sections.watermark.histogram import histogram, in_words
from arroyo_nb.views.sections.watermark.standing import (
    HEADS,
    cells,
    sentences,
    standings,
)

NOTHING = "No event time seen yet."
WORDS_CHARS = 600


class WatermarkView(PanelViewBase):
    """The watermark against the newest events, and the lateness of rows."""

    name = "watermark"
    place = 20
    title = "the watermark against the newest events, and how late rows come"

    def suits(self, snapshot: Snapshot) -> bool:
        """A query without windows; a result that is never final waits for none."""
        return not (snapshot.windowed or snapshot.updating)

    def suits_static(self, snapshot: Snapshot) -> bool:
        """The same, and one whose windows are not there yet."""
        return not (snapshot.windows or snapshot.updating)

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The curves as they moved, the sources in words, and the histogram."""
        if not (drawn := strip(snapshot)):
            return f'<p class="soft">{NOTHING}</p>'
        said = _paragraph(" ".join(sentences(snapshot)), 'class="soft"')
        parts = [drawn, said, _table(snapshot, "", "", ' class="long"')]
        if made := histogram(snapshot):
            parts += [made, _paragraph(in_words(snapshot), 'class="soft"')]
        return "".join(parts)

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The same as images."""
        if not (drawn := strip(snapshot)):
            return ""
        soft = f'style="{SOFT}"'
        said = _paragraph(" ".join(sentences(snapshot)), soft)
        left, long = f' style="{CELL}left"', f' style="{WIDE_CELL}"'
        parts = [image(snapshot, drawn, "watermark"), said]
        parts.append(_table(snapshot, left, left, long))
        if made := histogram(snapshot):
            parts.append(image(snapshot, made, "lateness of rows"))
            parts.append(_paragraph(in_words(snapshot), soft))
        return "".join(parts)


def _paragraph(text: str, look: str) -> str:
    return f"<p {look}>{escaped(text, WORDS_CHARS)}</p>" if text else ""


def _table(snapshot: Snapshot, head: str, cell: str, note: str) -> str:
    """Where each of several sources stands; of one the sentences say it.

    Parameters
    ----------
    snapshot
        Whose sources.
    head, cell, note
        Attributes of a head, of a cell, and of the last cell of a line, which is long.
    """
    known = standings(snapshot)
    if len(known) < 2:
        return ""
    heads = "".join(f"<th{head}>{escaped(text)}</th>" for text in HEADS)
    rows = ""
    for each in known:
        *texts, last = cells(each)
        made = "".join(f"<td{cell}>{escaped(text)}</td>" for text in texts)
        rows += f"<tr>{made}<td{note}>{escaped(last)}</td></tr>"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="rows">{table}</div>' if not head else table


VIEW = WatermarkView()
