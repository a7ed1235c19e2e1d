"""The live view of a run in its cell, and what stays of it.

A cell has two outputs: the live panel (a widget) and beside it the snapshot that
survives a killed kernel, which the live panel hides. A run that has read all its rows
stays live while somebody looks: one goes back in time, and opens other views. Where
nobody looks any more, or Stop was pressed, the widget's place is taken by the last
snapshot, and the snapshot's place by a line that says how to see it live again.

One thread refreshes all panels in turn: a frame is sent when it differs from the last
one, at most four times a second each and ten times a second in all, and only while
somebody looks (the page says so every few seconds), so a closed browser fills no queue.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from threading import Lock, RLock, Thread
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.observe.snapshot import Selection, Snapshot
from arroyo_nb.views import static_html
from arroyo_nb.views.formatting import NAME_CHARS, plain
from arroyo_nb.views.inert import SOFT
from arroyo_nb.views.outputs import chosen_output, other_outputs
from arroyo_nb.views.panel import MOST_ROWS, STEPS, body
from arroyo_nb.views.player import MomentSource, Player
from arroyo_nb.views.row_filter import MESSAGE as FIND
from arroyo_nb.views.row_filter import filtered, words_of
from arroyo_nb.views.sections import needs_plan
from arroyo_nb.views.sections.arrivals import chosen_axis
from arroyo_nb.views.selection import SELECTED_ROWS, after, selected
from arroyo_nb.views.selection import WORD as SELECT
from arroyo_nb.views.view_tabs import MESSAGE, chosen_view

LOG = logging.getLogger("arroyo_nb")
LOG.addHandler(logging.NullHandler())

FRAME_S = 0.25
"""Least time between two frames of a panel."""

SEND_S = 0.1
"""Least time that a message takes, of all panels together: more of them come less
often."""

STILL_S = 5.0
"""Least time between two refreshes of the snapshot beside it."""

BEAT_S = 5.0
"""How often a page that looks hears that the kernel lives, whatever the run does."""

MOST_ENDED = 20
"""Panels of runs that have ended that stay live; of more the oldest becomes a
snapshot."""

UNSEEN_S = 15.0
"""A page that has been silent for so long is taken as closed."""

MOST_FAILURES = 20
"""Frames in a row that cannot be made before a panel is given up."""

Data = Mapping[str, Any]


class Showable(Protocol):
    """What a panel needs of a run."""

    @property
    def name(self) -> str:
        """Name of the run."""

    def snapshot(self, rows: int = ..., output: int = ...) -> Snapshot:
        """The picture of an output; cheap."""

    def explain(self) -> str:
        """The text of its plan."""

    def moments(self, output: int = ...) -> MomentSource:
        """The recorded micro-batches of an output."""


@runtime_checkable
class Controllable(Protocol):
    """A run whose panel has buttons; a trace that was loaded has none."""

    def stop(self, note: str = ...) -> Any:
        """End it; returns at once."""

    def pause(self) -> None:
        """Pause the run: no more rows are read until it is resumed."""

    def resume(self) -> None:
        """Let it go on."""

    def step(self, *, until: str | None = ...) -> Any:
        """One more chunk, or as many as it takes."""


@runtime_checkable
class Stalable(Protocol):
    """A run that says when a table that it read was declared anew."""

    def on_stale(self, callback: Callable[[], object]) -> None:
        """Have a function called then."""


class Slot(Protocol):
    """An output of a cell that can be replaced later, from any thread."""

    def update(self, data: Data) -> None:
        """Replace what it shows."""


class Screen(Protocol):
    """A widget that shows frames."""

    frame: str
    beats: bool

    def view(self) -> Data:
        """The MIME bundle that shows it."""

    def say_alive(self) -> None:
        """Have the page know that the kernel lives."""

    def close(self) -> None:
        """Take it off the page."""


class Display(Protocol):
    """Where panels are displayed: the notebook, or a test's stand-in."""

    def show(self, data: Data) -> Slot:
        """A new output below the cell that is being executed."""

    def screen(self, marker: str, pressed: Callable[[str], None]) -> Screen:
        """A new widget, not shown yet."""

    @property
    def busy(self) -> bool:
        """Whether a cell is being executed, so that no page can be heard."""


@dataclass(frozen=True)
class PanelOptions:
    """What the cell asked to see: a view, how many rows, the plan's text; and what was
    clicked: an output, what is ``selected`` in it, words to ``find``, the clock as an
    axis, and a ``tab`` (None is the first one), where ``has_tab``."""

    view: str | None = None
    rows: int = MOST_ROWS
    plan: str = ""
    output: int = 0
    selected: Selection | None = None
    find: str = ""
    clock_axis: bool = False
    tab: str | None = None
    has_tab: bool = False


class Panel:
    """The live panel of one run.

    Attributes
    ----------
    failures
        How many refreshes in a row could not be made.
    sent
        How many messages it has sent while its run went on.

    Parameters
    ----------
    run
        What it shows.
    stage
        Where.
    wish
        Which views.
    stays
        Whether it stays also when nobody looks any more.
    """

    def __init__(
        self,
        run: Showable,
        stage: Display,
        wish: PanelOptions | None = None,
        *,
        stays: bool = False,
    ) -> None:
        self._run, self._stage, self._wish = run, stage, wish or PanelOptions()
        self._stopped = self._settled = False
        self._player, self._stays = Player(run.moments()), stays
        self._marker = f"arroyo-still-{uuid4().hex[:12]}"
        self._lock = RLock()
        self._seen_s = self._still_s = self._beat_s = time.monotonic()
        self._open, self._outputs, self._refused = True, 1, ""
        self.failures = self.sent = 0
        self._screen = stage.screen(self._marker, self._pressed)
        self._screen.frame = self._frame(self._shown(self._newest()))
        self._live = stage.show(self._screen.view())
        self._still = stage.show(static_bundle(run, self._wish, self._marker))
        if isinstance(run, Stalable):
            run.on_stale(self._say_stale)

    def refresh(self) -> bool:
        """Bring the page up to date; returns whether there is more to come."""
        with self._lock:
            if not self._open:
                return False
            now = time.monotonic()
            seen = self._is_seen(now)
            if self._settled and seen and not self._player.speed:
                self._beat(now)  # nothing changes any more until something is pressed
                return True
            newest = self._newest()
            if newest.state.ended and not self._is_held(seen=seen):
                self._finish()
                return False
            if seen:
                self._draw(self._shown(newest))
                self._draw_still(now, is_last=newest.state.ended)
                self._beat(now)
                self._settled = newest.state.ended
            return True

    @property
    def has_ended(self) -> bool:
        """Whether it shows a run that has ended."""
        return self._settled

    def _is_held(self, *, seen: bool) -> bool:
        """Whether it stays live at the end: somebody looks, and has not pressed Stop,
        or looks at an earlier batch."""
        looked_at = not self._stopped or not self._player.follows
        return self._stays or (seen and looked_at)

    def close(self) -> None:
        """Leave the newest snapshot in the place of the widget."""
        with self._lock:
            if self._open:
                self._finish()

    @property
    def _rows(self) -> int:
        # What belongs to what is selected may have come long ago.
        wish = self._wish
        is_whole = wish.selected is None and not wish.find
        return wish.rows if is_whole else SELECTED_ROWS

    def _newest(self) -> Snapshot:
        """The chosen output as it is now."""
        snapshot = _output_of(self._run, self._rows, self._wish.output)
        self._outputs = len(snapshot.outputs)
        return snapshot

    def _shown(self, newest: Snapshot) -> Snapshot:
        """What the page shows: at the chosen batch, and of what is selected."""
        snapshot = self._player.snapshot(newest, self._rows)
        snapshot = replace(snapshot, clock_axis=self._wish.clock_axis)
        return filtered(selected(snapshot, self._wish.selected), self._wish.find)

    def _frame(self, snapshot: Snapshot) -> str:
        wish = self._wish
        if self._refused:
            snapshot = replace(snapshot, note=self._refused)
        view = wish.tab if wish.has_tab else wish.view
        return body(snapshot, view=view, plan=wish.plan, rows=wish.rows, keys=True)

    def _is_seen(self, now: float) -> bool:
        # While a cell is executed, the kernel reads no message of a page: its silence
        # says nothing.
        if self._stage.busy or not self._screen.beats:
            self._seen_s = now
        return now - self._seen_s < UNSEEN_S

    def _draw(self, snapshot: Snapshot) -> None:
        frame = self._frame(snapshot)
        # An idle run sends nothing but beats.
        if frame != self._screen.frame:
            self._screen.frame = frame
            self.sent += 1

    def _beat(self, now: float) -> None:
        if now - self._beat_s >= BEAT_S:
            self._beat_s = now
            self._screen.say_alive()
            self.sent += 1

    def _draw_still(self, now: float, *, is_last: bool) -> None:
        if now - self._still_s >= STILL_S or (is_last and not self._settled):
            self._still_s = now
            self._still.update(static_bundle(self._run, self._wish, self._marker))
            self.sent += 1

    def _finish(self) -> None:
        # The last picture first, and only then the widget goes: the page never shows an
        # empty place.
        self._live.update(static_bundle(self._run, self._wish))
        self._still.update(_how_to_see_it(self._run.name))
        self._screen.close()
        self._open = False

    def _say_stale(self) -> None:
        """What is left of a run in its cell is no picture of the tables any more. A
        live panel says so in its next frame."""
        with self._lock:
            self._settled = False
            if not self._open:
                self._live.update(static_bundle(self._run, self._wish))

    def _pressed(self, name: str) -> None:
        """A message of the page, on whatever thread it comes."""
        self._seen_s = time.monotonic()
        if name == ALIVE:
            return
        with self._lock:
            self._stopped = self._stopped or name == "stop"
        if self._acts(name):
            return
        if name.startswith(MESSAGE):
            self._choose(name)
        elif (clock := chosen_axis(name)) is not None:
            self._show(clock_axis=clock)
        elif (output := chosen_output(name, self._outputs)) is not None:
            with self._lock:
                self._player = Player(_moments_of(self._run, output))
            # What is selected is a row or a window of the other one.
            self._show(output=output, selected=None, find="")
        elif name.startswith(FIND):
            self._show(find=words_of(name))
        elif name.startswith(f"{SELECT} "):
            self._show(selected=after(name, self._wish.selected))
        else:
            with self._lock:
                if self._player.press(name):
                    self._redraw()

    def _acts(self, name: str) -> bool:
        """Whether a button of the run was pressed."""
        word, _, until = name.partition(" ")
        steps = word == "step" and until in STEPS
        if not isinstance(self._run, Controllable) or not (name in ACTS or steps):
            return False
        refused = ""
        try:
            self._run.step(until=until) if steps else ACTS[name](self._run)
        except ArroyoError as problem:
            refused = problem.message
        with self._lock:
            is_other, self._refused = refused != self._refused, refused
            self._settled = False
            if is_other:
                self._redraw()
        return True

    def _choose(self, message: str) -> None:
        """Show the view of a tab."""
        try:
            view = chosen_view(message)
        except LookupError:
            return
        # Made before the lock is taken: it may look into the rows that came.
        plan = self._wish.plan or (self._run.explain() if needs_plan(view) else "")
        self._show(tab=view, has_tab=True, plan=plan)

    def _show(self, **wish: Any) -> None:
        with self._lock:
            self._wish = replace(self._wish, **wish)
            self._redraw()

    def _redraw(self) -> None:
        """Draw what has just been changed under the lock. In the same hold of it: a
        frame that the refresher drew in between would take the panel as settled."""
        self._settled = False
        self.refresh()


def static_bundle(
    run: Showable, wish: PanelOptions, marker: str = "", *, with_error: bool = True
) -> Data:
    """What stays of a run in the notebook: its first output, what the cell asked to
    see of it and the view of the open tab, and a few rows of the others. The error is
    left out where it follows as the cell's."""
    snapshot = run.snapshot(wish.rows)
    if not with_error:
        snapshot = replace(snapshot, error=None)
    others = other_outputs(snapshot, partial(_output_of, run))
    return static_html.bundle(
        snapshot,
        marker=marker,
        view=wish.view,
        tab=wish.tab,
        plan=wish.plan,
        others=others,
    )


def _output_of(run: Showable, rows: int, output: int) -> Snapshot:
    # A run with one output need not know that there may be others.
    return run.snapshot(rows, output=output) if output else run.snapshot(rows)


def _moments_of(run: Showable, output: int) -> MomentSource:
    return run.moments(output) if output else run.moments()


def _how_to_see_it(name: str) -> Data:
    """The line in the place of a snapshot: an output without content is an error of
    some pages."""
    text = f"live view: %arroyo show {plain(name, NAME_CHARS)}"
    return {"text/html": f'<p style="{SOFT}">{escape(text)}</p>', "text/plain": text}


ALIVE = "alive"
"""What a page says every few seconds, and nobody has pressed."""

ACTS: Mapping[str, Callable[[Controllable], Any]] = {
    "stop": lambda run: run.stop("stopped with its Stop button"),
    "pause": lambda run: run.pause(),
    "resume": lambda run: run.resume(),
    "step": lambda run: run.step(),
}


class Refresher:
    """The one thread that refreshes every live panel; it ends with the last one."""

    def __init__(self) -> None:
        self._panels: list[Panel] = []
        self._lock = Lock()
        self._thread: Thread | None = None

    def add(self, panel: Panel) -> None:
        """Refresh a panel from now on, until its run has ended."""
        with self._lock:
            self._panels.append(panel)
            if self._thread is None:
                self._thread = Thread(
                    target=self._loop, name="arroyo-nb panels", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Leave snapshots in the place of all panels."""
        with self._lock:
            # Taken out under the lock and closed outside it: closing sends messages,
            # which may take long.
            panels, self._panels = self._panels, []
        for panel in panels:
            _close(panel)

    def _loop(self) -> None:
        messages = 0
        while panels := self._current():
            # Jupyter's server stops output at 1,000 messages a second: many panels
            # share what one may send.
            turn_s = max(FRAME_S, messages * SEND_S) / len(panels)
            messages = 0
            for panel in panels:
                begun, sent = time.monotonic(), panel.sent
                if not _refreshed(panel):
                    self._drop(panel)
                messages += panel.sent - sent
                # A cell that is run meanwhile waits for one panel, not for all of them.
                time.sleep(max(begun + turn_s - time.monotonic(), 0.0))
            self._close_oldest()

    def _current(self) -> list[Panel]:
        """The panels that are left; none ends the thread."""
        with self._lock:
            if not self._panels:
                self._thread = None
            return list(self._panels)

    def _close_oldest(self) -> None:
        with self._lock:
            ended = [panel for panel in self._panels if panel.has_ended]
            surplus = ended[: max(len(ended) - MOST_ENDED, 0)]
            self._panels = [each for each in self._panels if each not in surplus]
        for panel in surplus:
            _close(panel)

    def _drop(self, panel: Panel) -> None:
        with self._lock:
            # It is gone where all were closed meanwhile.
            if panel in self._panels:
                self._panels.remove(panel)


def _refreshed(panel: Panel) -> bool:
    """Whether there is more to come; what fails once may work the next time."""
    try:
        more = panel.refresh()
    except Exception:
        # Not printed: from this thread it would land in another cell.
        LOG.exception("a panel could not be refreshed")
        panel.failures += 1
        return panel.failures < MOST_FAILURES
    panel.failures = 0
    return more


def _close(panel: Panel) -> None:
    """Close a panel; one that cannot be closed keeps no other from being drawn."""
    try:
        panel.close()
    except Exception:
        LOG.exception("a panel could not be closed")


REFRESHER = Refresher()
"""Refreshes the panels of this process."""

atexit.register(REFRESHER.close)


def show(
    run: Showable,
    stage: Display,
    wish: PanelOptions | None = None,
    *,
    stays: bool = False,
) -> Panel:
    """Show a run live below the cell that is being executed; returns at once. See
    :class:`Panel`."""
    panel = Panel(run, stage, wish, stays=stays)
    REFRESHER.add(panel)
    return panel
