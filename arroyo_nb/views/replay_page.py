"""A run as one page: the frames of its panel, moved over without a kernel.

The page holds the panel's own module and style, and the frames as compressed text. What
the kernel answers to the panel in a notebook, a second small module answers here.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Protocol, TypeAlias

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.durable_files import replaced_whole
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals, require_file
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.observe.history import thinned
from arroyo_nb.run.observe.snapshot import Moment, RunState, Snapshot
from arroyo_nb.run.results.hand_out import BARE, HandOut
from arroyo_nb.secrets_in_text import hide_secrets
from arroyo_nb.views.formatting import NAME_CHARS, escaped, lines
from arroyo_nb.views.listing import rows
from arroyo_nb.views.panel import body, live_style
from arroyo_nb.views.player import MomentSource
from arroyo_nb.views.sections import needs_plan
from arroyo_nb.views.selection import without_picks
from arroyo_nb.views.view_tabs import MESSAGE, chosen_view, tab_names

MOST_FRAMES = 400
"""Micro-batches that a page shows at most; of more an even choice."""

MOST_ROWS = 300
"""Sampled rows of a run that a page goes over one by one; a page of a run with more
goes over micro-batches only."""

MOST_BYTES = 16_000_000
"""What the frames of a page are together at most, before they are compressed: with more
every second one is left out."""

ROWS = 20

MOST_TEXT = 20_000
"""Characters of a text or of a script in a page."""

TELL_S = 0.5
"""How often it is told how far a page is."""

SAVED_LIVE = "this page was saved while the run went on"


class Replayed(Protocol):
    """What a page needs of a run."""

    @property
    def name(self) -> str:
        """Name of the run."""

    def snapshot(self, rows: int = ...) -> Snapshot:
        """Its picture."""

    def moments(self) -> MomentSource:
        """Its recorded micro-batches."""


def save(
    run: Replayed,
    path: str | Path,
    tell: Callable[[str], object] | None = None,
    hand_out: HandOut = BARE,
) -> Path:
    """Write the page; returns its path.

    Parameters
    ----------
    run
        What it shows.
    path
        The file; one that is there is replaced once the page is whole.
    tell
        Is told now and then how far it is; None: nobody is.
    hand_out
        What stands around the panel.

    Raises
    ------
    RunProblem
        When nothing is recorded, or the path may not be written.
    KeyboardInterrupt
        When it was interrupted; nothing is written then.
    """
    file, allowed = user_path(path), current_roots()
    if not allowed.allow(file):
        raise allowed.refusal(f"the page '{file}'")
    require_file(file)
    with defer_interrupts() as interrupts:
        made = page(run, _Progress(run.name, tell, interrupts.check), hand_out)
    with refusals("write", str(file)), replaced_whole(file) as unfinished:
        unfinished.write_text(made, "utf-8")
    return file


class _Progress:
    """How far a page is: told every :data:`TELL_S`, and a moment to be interrupted."""

    def __init__(
        self,
        name: str,
        tell: Callable[[str], object] | None,
        cancel_check: Callable[[], None],
    ) -> None:
        self._name, self._tell, self._cancel_check = name, tell, cancel_check
        self._told_s = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Note that so many frames are drawn; raises where it was interrupted."""
        self._cancel_check()
        now_s = time.monotonic()
        if self._tell is not None and now_s - self._told_s >= TELL_S:
            self._told_s = now_s
            self._tell(f"{self._name}: {done:,} of {of:,} micro-batches drawn")


def page(
    run: Replayed,
    on_progress: Callable[[int, int], object] = lambda *_: None,
    hand_out: HandOut = BARE,
) -> str:
    """The page of a run, as HTML.

    Parameters
    ----------
    run
        What it shows.
    on_progress
        Is told how many micro-batches are drawn, and of how many; what it raises ends
        the work.
    hand_out
        What stands around the panel.

    Raises
    ------
    RunProblem
        When no micro-batch of it is recorded.
    """
    frames = _frames(run, on_progress)
    packed = b64encode(zlib.compress(json.dumps(frames).encode(), 9)).decode()
    static = files("arroyo_nb.views") / "static"
    module, script = (
        (static / n).read_text("utf-8") for n in ("panel.js", "replay.js")
    )
    sheet = json.dumps(live_style()).replace("<", "\\u003c")
    name = escaped(hand_out.title or run.name, NAME_CHARS)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>body { margin: 16px; background: Canvas; color: CanvasText; "
        "color-scheme: light dark; font: 14px system-ui, sans-serif } "
        f"{_AROUND}</style><body>{_above(hand_out)}"
        f'<div id="panel"></div>{_below(hand_out)}'
        f'<script type="application/json" id="sheet">{sheet}</script>'
        f'<script type="text/plain" id="frames">{packed}</script>'
        f'<script type="module">{module}\n{script}</script></body></html>\n'
    )


_AROUND = (
    ".around { max-width: 960px; line-height: 1.5 } .around pre { padding: 8px 14px; "
    "border: 1px solid #8886; border-radius: 6px; overflow-x: auto; font-size: 13px }"
)
"""Style of what stands around the panel."""


def _above(hand_out: HandOut) -> str:
    """The title and the text, where there are any."""
    paragraphs = (part for part in re.split(r"\n\s*\n", hand_out.text) if part.strip())
    made = f"<h1>{escaped(hand_out.title, MOST_TEXT)}</h1>" * bool(hand_out.title)
    made += "".join(f"<p>{escaped(part.strip(), MOST_TEXT)}</p>" for part in paragraphs)
    return f'<div class="around">{made}</div>' if made else ""


def _below(hand_out: HandOut) -> str:
    """The script, and the rows that it reads."""
    made = ""
    if hand_out.sql.strip():
        sql = hide_secrets(hand_out.sql.strip())
        made += f"<h2>SQL</h2><pre>{lines(sql, MOST_TEXT)}</pre>"
    for each in hand_out.given:
        which = "all rows" if each.whole else f"the first {each.rows.num_rows} rows"
        made += f"<h2>{escaped(each.table, NAME_CHARS)}: {which}</h2>"
        made += rows(each.rows).get("text/html", "<p>no row</p>")
    return f'<div class="around">{made}</div>' if made else ""


Frames: TypeAlias = "dict[str, str]"
"""The frames of one batch, by the views that their tabs name."""


Shown: TypeAlias = "tuple[int, float, Frames, int, bool]"
"""A batch, after how many seconds it ended, its frames, up to which of its rows they
show it (0: they aren't shown one by one), and whether that is its end."""


def _frames(
    run: Replayed, on_progress: Callable[[int, int], object]
) -> Sequence[Shown]:
    """Each shown batch, after those of its rows that are shown one by one."""
    moments, newest = run.moments(), run.snapshot(ROWS)
    if not newest.state.ended:
        newest = replace(newest, state=RunState.STOPPED, note=SAVED_LIVE)
    times = list(moments.times)
    if not times:
        raise RunProblem(
            "no micro-batch is recorded", hint="wait until the first one has ended"
        )
    chosen = thinned(times, MOST_FRAMES)
    ends = times[0][0], times[-1][0]
    drawn = _drawn_rows(moments, [batch_id for batch_id, _ in times])
    made: list[Shown] = []
    for number, (batch_id, elapsed_s) in enumerate(chosen):
        on_progress(number, len(chosen))
        last = drawn.get(batch_id, 0)
        for row in range(1, last):
            at = moments.within(newest, batch_id, row, ROWS)
            made.append((batch_id, elapsed_s, _views(_mute(at)), row, False))
        moment = Moment(batch_id, *ends, is_newest=batch_id == ends[1])
        if last:
            at = moments.within(newest, batch_id, last, ROWS)
            assert at.moment is not None
            moment = replace(moment, arrival=at.moment.arrival)
        at = newest if moment.is_newest else moments.snapshot(newest, batch_id, ROWS)
        shown = _views(_mute(replace(at, moment=moment)))
        made.append((batch_id, elapsed_s, shown, last, True))
    if _size(made) > MOST_BYTES:
        made = [shown for shown in made if shown[4]]
    while _size(made) > MOST_BYTES:
        made = list(reversed(made[::-1][::2]))
    return made


def _drawn_rows(moments: MomentSource, ids: Sequence[int]) -> dict[int, int]:
    """How many rows of each batch are shown one by one; none of a run with many."""
    drawn: dict[int, int] = {}
    for batch_id in ids:
        if (came := moments.arrivals(batch_id)) is not None:
            drawn[batch_id] = len(came.times)
            if sum(drawn.values()) > MOST_ROWS or len(ids) > MOST_FRAMES:
                return {}
    return drawn


def _mute(snapshot: Snapshot) -> Snapshot:
    """Without what needs a kernel: the page's script only moves over what is there."""
    return replace(snapshot, can_pause=False, outputs=())


def _views(snapshot: Snapshot) -> Frames:
    """The frame of each tab but those that need the kernel: the plan's text."""
    asked = {name: chosen_view(f"{MESSAGE}{name}") for name in tab_names(snapshot)}
    return {
        name: without_picks(body(snapshot, view=view, keys=True))
        for name, view in asked.items()
        if not needs_plan(view)
    }


def _size(made: Sequence[Shown]) -> int:
    return sum(len(frame) for _, _, frames, *_ in made for frame in frames.values())
