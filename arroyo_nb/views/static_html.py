"""The picture of a run that stays in the notebook when the kernel is gone.

Neither script nor style sheet: inline styles, a picture as a data address, a real
table and plain text. That is what GitHub, nbviewer, nbconvert and an untrusted
notebook all show. Beside a live panel one rule of style is added that JupyterLab and
Notebook need and all others may drop.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.run.observe.snapshot import Snapshot, SourceProgress
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.caption import lesson
from arroyo_nb.views.doctor import unasked, unasked_text
from arroyo_nb.views.formatting import NAME_CHARS, count, escaped, instant, lines, plain
from arroyo_nb.views.inert import SOFT
from arroyo_nb.views.outputs import output_heading, output_lines
from arroyo_nb.views.panel import ERROR_CHARS, NOTE_CHARS
from arroyo_nb.views.rows import (
    cell_texts,
    first_rows,
    fitted,
    is_wide,
    numeric_columns,
)
from arroyo_nb.views.sections import views_of
from arroyo_nb.views.sections.table import static_table as table
from arroyo_nb.views.sources import BAD_CHARS, behind, connection, unread
from arroyo_nb.views.summary import came_out, glyph, told
from arroyo_nb.views.truncation_notes import (
    CUT_CHARS,
    bad_sample,
    dropped_rows,
    late_in_words,
    not_written,
    outputs_left_out,
    rows_left_out,
    rows_not_listed,
    stale_tables,
    trace_left_out,
)

MOST_BYTES = 60_000
"""What a live cell adds to a saved notebook at most, whatever the run's length."""

TEXT_COLUMN_CHARS = 40

PLAN_TEXT_CHARS = 8_000
"""Characters of a plan in a terminal."""

BOX = "border:1px solid #8886;border-radius:6px;padding:8px 14px;max-width:932px"
# A widget that is there has elements in it; the message that there is none has not.
WIDGET_LOST = (
    ".jp-OutputArea-child:has(+ .jp-OutputArea-child .%s) "
    "> .jupyter-widgets:not(:has(*)) { display: none }"
)


def bundle(
    snapshot: Snapshot,
    *,
    marker: str = "",
    view: str | None = None,
    tab: str | None = None,
    plan: str = "",
    others: tuple[Snapshot, ...] = (),
) -> dict[str, str]:
    """The MIME bundle to display: ``text/html`` and ``text/plain``.

    Parameters
    ----------
    snapshot
        What to draw.
    marker
        A class on the outermost element, by which a live panel hides it. Such a
        snapshot hides in turn what is left of a widget whose kernel was killed.
    view
        The one view that was asked for; None: what suits the query.
    tab
        A view that is open in the live panel: it is shown, too.
    plan
        Text of the plan, for the views that show it.
    others
        The other outputs, of which a few rows are shown where there is room.
    """
    cut = fitted(snapshot)
    size = max(len(cut.rows), len(cut.changes), *(len(o.rows) for o in others), 0)
    while True:
        cut = first_rows(cut, size)
        others = tuple(first_rows(other, size) for other in others)
        made = {
            "text/html": _html(cut, marker, view, tab, plan, others),
            "text/plain": "\n".join(
                (text(cut), *output_lines(others), *_plan_lines(plan))
            ),
        }
        if size == 0 or sum(len(v.encode()) for v in made.values()) <= MOST_BYTES:
            return made
        size = size * 3 // 4


def _plan_lines(plan: str) -> list[str]:
    """The text of the plan for a terminal, where the plan was asked for."""
    return [plain(line, 400) for line in plan[:PLAN_TEXT_CHARS].splitlines()]


def text(snapshot: Snapshot) -> str:
    """The run for a terminal: one line, what went wrong, and the newest rows."""
    snapshot = fitted(snapshot)
    parts = [
        plain(told(snapshot), 300),
        plain(stale_tables(snapshot), CUT_CHARS),
        _why(snapshot),
    ]
    if snapshot.error:
        parts += [plain(line, 400) for line in snapshot.error.splitlines()[:60]]
    parts += _text_table(snapshot)
    parts += unasked_text(snapshot)
    parts += [plain(said, CUT_CHARS) for said in _left_out(snapshot)]
    parts += [plain(note, CUT_CHARS) for note in _source_notes(snapshot)]
    told_bad, bad = bad_sample(snapshot)
    parts += [told_bad, *(f"  {plain(row, BAD_CHARS)}" for row in bad)]
    return "\n".join(part for part in parts if part)


def _left_out(
    snapshot: Snapshot, *, listed: bool = True, with_others: bool = False
) -> list[str]:
    rows = rows_left_out if listed else rows_not_listed
    outputs = [] if with_others else [outputs_left_out]
    told = (not_written, rows, *outputs, trace_left_out)
    said = [said for tell in told if (said := tell(snapshot))]
    return [*said, *_positions(snapshot)]


def _positions(snapshot: Snapshot) -> list[str]:
    """How far the run is behind each topic that it reads, or what it has left of it;
    and how its feeds are connected."""
    ended = snapshot.state.ended
    told = ((s.name, _position(s, ended=ended)) for s in snapshot.sources)
    return [f"{name}: {words}" for name, words in told if words]


def _position(source: SourceProgress, *, ended: bool) -> str:
    if source.is_feed:
        return " · ".join(connection(source, ended=ended))
    if not source.partitions:
        return ""
    return unread(source) if ended else " · ".join(behind(source))


def _source_notes(snapshot: Snapshot) -> list[str]:
    """What is odd in the rows of each source."""
    return [f"{s.name}: {note}" for s in snapshot.sources for note in s.notes]


def _bad(snapshot: Snapshot) -> str:
    """A few of the rows that could not be read, each with what is wrong."""
    told_bad, bad = bad_sample(snapshot)
    rows = "".join(f"<li>{escaped(row, BAD_CHARS)}</li>" for row in bad)
    if not bad:
        return ""
    said = f'<summary style="{SOFT}">{escaped(told_bad)}</summary>'
    return f"<details>{said}<ul>{rows}</ul></details>"


def _why(snapshot: Snapshot) -> str:
    """Of which moment the picture is, why it ends there, and how to see it move."""
    mark = snapshot.watermark
    if mark is None:
        at = "snapshot before the first watermark"
    elif mark >= END_OF_TIME:
        at = "snapshot at the end of the input"
    else:
        at = f"snapshot at watermark {instant(mark)}"
    state, said = snapshot.state.value, snapshot.note
    if not said.startswith(state):
        said = f"{state}: {said}" if said else state
    if not snapshot.state.ended:
        said = f"taken after {snapshot.elapsed_s:.0f} s while it was running"
    parts = (at, said, f"live view: %arroyo show {snapshot.name}")
    return plain("; ".join(parts), NOTE_CHARS + 120)


def _html(
    snapshot: Snapshot,
    marker: str,
    view: str | None,
    tab: str | None,
    plan: str,
    others: tuple[Snapshot, ...],
) -> str:
    views = views_of(view, snapshot, static=True)
    asked = views if view is not None else ()
    if tab is not None and (opened := views_of(tab, snapshot)[0]) not in views:
        views, asked = (*views, opened), (*asked, opened)
    listed = any(view.lists_rows for view in views)
    said = lesson(snapshot, beside_table=listed)
    parts = (
        _head(snapshot),
        stale_mark(snapshot),
        _error(snapshot),
        *(view.static(snapshot, plan, asked=view in asked) for view in views),
        *map(_other_output, others),
        unasked(snapshot, beside_table=listed),
        *(
            f'<p style="{SOFT}">{escaped(said, CUT_CHARS)}</p>'
            for said in _left_out(
                snapshot,
                listed=listed,
                with_others=len(others) == snapshot.more_outputs,
            )
        ),
        *(f"<p>{escaped(note, CUT_CHARS)}</p>" for note in _source_notes(snapshot)),
        _bad(snapshot),
        f'<p style="{SOFT}">{escaped(said, 600)}</p>' if said else "",
        f'<p style="{SOFT}"><em>{escaped(_why(snapshot), 500)}</em></p>',
    )
    name = f' class="{escaped(marker)}"' if marker else ""
    style = f"<style>{WIDGET_LOST % escaped(marker)}</style>" if marker else ""
    return f'<div{name} style="{BOX}">{style}{"".join(parts)}</div>'


def _other_output(other: Snapshot) -> str:
    """Another output: how much it gave, and its newest rows."""
    said = escaped(output_heading(other), CUT_CHARS)
    rows = table(fitted(other)) if other.rows else ""
    return (
        f'<details{" open" * bool(rows)}><summary style="{SOFT}">{said}</summary>'
        f"{rows}</details>"
    )


def _head(snapshot: Snapshot) -> str:
    numbers = [
        f"{count(snapshot.rows_in, 'row')} in",
        came_out(snapshot),
        *([f"× {late_in_words(snapshot)}"] if snapshot.late_rows else []),
        *(
            [f"× {count(dropped)} dropped"]
            if (dropped := dropped_rows(snapshot))
            else []
        ),
    ]
    # Who reads it later reads it of a run that goes on no more.
    was = "" if snapshot.state.ended else "was "
    state = f"{glyph(snapshot) if not was else '◌'} {was}{snapshot.state.value}"
    name = escaped(snapshot.name, NAME_CHARS)
    return (
        f'<p style="margin:0 0 4px"><b>{name}</b> &nbsp; <b>{state}</b> &nbsp; '
        f"{' · '.join(numbers)}</p>"
    )


def stale_mark(snapshot: Snapshot) -> str:
    """The tables that were changed since, as a paragraph; empty: none was."""
    if not (said := stale_tables(snapshot)):
        return ""
    style = "border-left:4px solid #cf222e;padding:4px 10px;margin:4px 0"
    return f'<p style="{style}"><b>{escaped(said, CUT_CHARS)}</b></p>'


def _error(snapshot: Snapshot) -> str:
    if not snapshot.error:
        return ""
    style = "white-space:pre-wrap;border-left:4px solid #cf222e;padding:4px 10px"
    return f'<pre style="{style}">{lines(snapshot.error, ERROR_CHARS)}</pre>'


def _text_table(snapshot: Snapshot) -> list[str]:
    if not snapshot.rows:
        return []
    numeric: Sequence[bool] = numeric_columns(snapshot)
    columns = [
        [plain(cell or "NULL", TEXT_COLUMN_CHARS) for cell in (name, *cells)]
        for name, cells in zip(snapshot.columns, cell_texts(snapshot), strict=False)
    ]
    if is_wide(snapshot):
        columns = [list(line) for line in zip(*columns, strict=True)]
        numeric = [False] * len(columns)
    widths = [max(map(len, cells)) for cells in columns]
    padded = [
        [c.rjust(w) if right else c.ljust(w) for c in cells]
        for cells, w, right in zip(columns, widths, numeric, strict=True)
    ]
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
