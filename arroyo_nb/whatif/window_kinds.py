"""The same rows in windows of several kinds: tumble, hop and session.

One script becomes one for each kind: only the calls of its window function are
replaced. All of them read the same rows in the same micro-batches, so what differs
between the pictures is due to the window alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.errors import RunProblem, SyntaxProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.intervals import interval_text
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.option_values import duration
from arroyo_nb.sql.window_calls import WINDOW_FUNCTIONS, window_calls

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.observe.snapshot import Snapshot
    from arroyo_nb.run.run import Run
    from arroyo_nb.source import ScriptText

WINDOWS = "windows"
"""What ``--compare`` calls tumble, hop and session of the query's own length."""

MOST_KINDS = 6
"""Each kind is a run of its own."""

SHAPE = (
    "write --compare windows, or name each: "
    "--compare 'tumble 10s, hop 5s 10s, session 5s'"
)
_LENGTHS = {"tumble": 1, "hop": 2, "session": 1}
_MAKERS: Mapping[str, Callable[..., nodes.Window]] = {
    "tumble": nodes.Tumble,
    "hop": nodes.Hop,
    "session": nodes.SessionWindow,
}


@dataclass(frozen=True)
class KindOfWindow:
    """A window by which the rows are grouped; ``name`` is part of its run's name."""

    name: str
    window: nodes.Window

    @property
    def call(self) -> str:
        """It as SQL."""
        match self.window:
            case nodes.Tumble(width):
                return f"tumble({_interval(width)})"
            case nodes.Hop(slide, width):
                return f"hop({_interval(slide)}, {_interval(width)})"
            case nodes.SessionWindow(gap):
                return f"session({_interval(gap)})"


class WindowComparisonViews(Protocol):
    """How a comparison is shown: views are above it, and are handed in."""

    def text(self, found: WindowComparison) -> str:
        """A line for each kind."""

    def html(self, found: WindowComparison) -> str:
        """A picture for each kind, under each other."""


@dataclass(frozen=True)
class WindowComparison:
    """Runs of one script with windows of several kinds.

    Parameters
    ----------
    kinds, runs
        The windows, and the run of each, which has ended.
    views
        Draws it.
    """

    kinds: tuple[KindOfWindow, ...]
    runs: tuple[Run, ...]
    views: WindowComparisonViews

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The last picture of each run."""
        return tuple(run.snapshot() for run in self.runs)

    def __repr__(self) -> str:
        return self.views.text(self)

    def _repr_html_(self) -> str:
        return self.views.html(self)


def span_of(snapshots: Sequence[Snapshot]) -> tuple[datetime, datetime] | None:
    """From the first window of all pictures to the last; None: there is no window."""
    bars = [bar for each in snapshots for bar in (*each.windows, *each.density)]
    if not bars:
        return None
    return min(bar.start for bar in bars), max(bar.end for bar in bars)


def window_kinds(written: str, plan: Plan) -> tuple[KindOfWindow, ...]:
    """The windows to compare.

    Parameters
    ----------
    written
        ``windows``, or windows with their lengths such as ``tumble 10s, session 5s``.
    plan
        That of the script as it is: of ``windows`` the lengths are those of its own.

    Raises
    ------
    RunProblem
        When a window is none, or the script has none or several.
    """
    own = _own_window(plan)
    if written.strip().lower() == WINDOWS:
        return _usual(own)
    found = [_read(word) for word in written.split(",")]
    if len(found) > MOST_KINDS:
        raise RunProblem(f"{len(found)} windows are too many: at most {MOST_KINDS}")
    names = [each.name for each in found]
    return tuple(
        KindOfWindow(f"{n}_{names[: at + 1].count(n)}", each.window)
        if names.count(n) > 1
        else each
        for at, (n, each) in enumerate(zip(names, found, strict=True))
    )


def _own_window(plan: Plan) -> nodes.Window:
    if len(plan.sinks) != 1:
        raise RunProblem(
            f"windows are compared of one query, and the script has {len(plan.sinks)}",
            hint="keep the declarations and one SELECT",
        )
    assigned = {
        node.assign
        for node in walk(plan.sinks[0])
        if isinstance(node, nodes.WindowAggregate) and node.assign is not None
    }
    if len(assigned) != 1:
        has = "no window" if not assigned else "windows of several lengths"
        raise RunProblem(
            f"the query has {has}: other windows are drawn in place of one",
            hint="GROUP BY one of "
            + ", ".join(f"{name}(...)" for name in WINDOW_FUNCTIONS),
        )
    return assigned.pop()


def _usual(own: nodes.Window) -> tuple[KindOfWindow, ...]:
    """All three kinds: a hop slides by half of its width, and a session's gap is as
    long as that."""
    match own:
        case nodes.Tumble(width):
            slide = width / 2
        case nodes.Hop(slide, width):
            pass
        case nodes.SessionWindow(gap):
            slide, width = gap, 2 * gap
    return (
        KindOfWindow("tumble", nodes.Tumble(width)),
        KindOfWindow("hop", nodes.Hop(slide, width)),
        KindOfWindow("session", nodes.SessionWindow(slide)),
    )


def _read(written: str) -> KindOfWindow:
    name, *lengths = written.split() or [""]
    name = name.lower()
    if len(lengths) != _LENGTHS.get(name, -1):
        raise RunProblem(f"'{written.strip()}' is not a window", hint=SHAPE)
    made = [length for each in lengths if (length := duration(each)) is not None]
    return KindOfWindow(name, _MAKERS[name](*made))


def with_window(source: ScriptText, kind: KindOfWindow) -> ScriptText:
    """The script with a window of another kind in the place of its own.

    Raises
    ------
    SyntaxProblem
        When the script calls no window function itself.
    """
    calls = window_calls(source)
    if not calls:
        raise SyntaxProblem(
            "the script itself calls no window function: that of a view stays as it is",
            hint="write the query of the view in the cell",
        )
    text = source.text
    for call in reversed(calls):
        text = text[: call.span.start] + kind.call + text[call.span.end :]
    return source.with_text(text)


def _interval(length: timedelta) -> str:
    return f"INTERVAL '{interval_text(length)}'"
