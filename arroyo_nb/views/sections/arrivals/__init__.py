"""Event time against processing time: the figure that every course draws by hand."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import count, escaped, late_for_sessions
from arroyo_nb.views.inert import SOFT, image
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.sections.arrivals.picture import FEW_TOLD, Picture, picture

NOTHING = "No event time seen yet."
ONE_ROW = "To read one row, go to it with ‹ and › beside the slider."
"""Said where so many rows are drawn that no dot says its own."""

WORDS_CHARS = 500
AXIS_MESSAGE = "axis "
"""What the message of the button for the axis begins with."""


class ArrivalsView(PanelViewBase):
    """When rows came, and when their events were."""

    name = "arrivals"
    place = 15
    title = "event time against processing time"

    def has_tab(self, snapshot: Snapshot) -> bool:
        """A query of rows that have a time."""
        return snapshot.windowed or bool(snapshot.history)

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The picture, and how to read it."""
        if (drawn := picture(snapshot)) is None:
            return f'<p class="soft">{NOTHING}</p>'
        words = in_words(snapshot, drawn)
        if drawn.dots > FEW_TOLD:
            words += f" {ONE_ROW}"
        said = escaped(words, WORDS_CHARS)
        return f'{drawn.svg}{axis_button(snapshot)}<p class="soft">{said}</p>'

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,
    ) -> str:
        """The same as an image."""
        if (drawn := picture(snapshot)) is None:
            return f'<p style="{SOFT}">{NOTHING}</p>' if asked else ""
        said = escaped(in_words(snapshot, drawn), WORDS_CHARS)
        made = image(snapshot, drawn.svg, self.title)
        return f'{made}<p style="{SOFT}">{said}</p>'


def axis_button(snapshot: Snapshot) -> str:
    """What turns the axis of processing time; empty where nobody hears it."""
    if snapshot.clock_axis is None:
        return ""
    to, text = ("batches", "equal micro-batches") if snapshot.clock_axis else (
        "clock", "the clock")  # fmt: skip
    return (
        f'<p class="turn"><button type="button" data-do="{AXIS_MESSAGE}{to}">'
        f"axis: show {text}</button></p>"
    )


def chosen_axis(message: str) -> bool | None:
    """Whether a message of the page asks for the clock; None: it asks for no axis.

    >>> chosen_axis("axis clock"), chosen_axis("axis batches"), chosen_axis("stop")
    (True, False, None)
    """
    return {f"{AXIS_MESSAGE}clock": True, f"{AXIS_MESSAGE}batches": False}.get(message)


def in_words(snapshot: Snapshot, drawn: Picture) -> str:
    """What a dot is, and what the picture leaves out."""
    rows = drawn.rows
    if not rows:
        said = ["The watermark follows the newest event by the delay that you allowed."]
        if not snapshot.windowed:
            said.append("Without a window no row is late. No rows are drawn.")
        return " ".join(said)
    batches = count(drawn.batches, "micro-batch")
    drawn_of = "" if drawn.dots == rows else f", {drawn.dots:,} of them drawn"
    said = [
        "A dot is a row: across, the micro-batch that read it"
        f"{', by the clock' if snapshot.clock_axis else ''}; up, its event time. "
        f"{count(rows, 'row')} in {batches}{drawn_of}. " + _who_is_late(drawn)
    ]
    if drawn.all_batches > drawn.batches:
        said.append(f"Of {drawn.all_batches:,} micro-batches these are an even choice.")
    if drawn.below:
        said.append(f"{count(drawn.below, 'dot')} at the lower edge: earlier events.")
    if drawn.narrow_windows:
        said.append(f"{count(drawn.narrow_windows, 'window')}: too narrow to be drawn.")
    if drawn.from_batch:
        said.append(f"Batches before {drawn.from_batch:,} are not drawn.")
    return " ".join(said)


def _who_is_late(drawn: Picture) -> str:
    if drawn.gap is not None:
        return late_for_sessions(drawn.gap)
    if drawn.has_window:
        return "A row is late where the watermark had reached the end of its window."
    said = "Without a window no row is late: each is processed"
    if drawn.behind:
        said += f", also the {drawn.behind:,} that came behind the watermark (○)"
    return f"{said}."


VIEW = ArrivalsView()
