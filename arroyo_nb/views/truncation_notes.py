"""What a view leaves out, in words: nothing is cut in silence.

Rows, windows and batches are kept up to a bound each, so that a run may go on for
days. What was let go is still counted.
"""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import Snapshot, WindowState
from arroyo_nb.views.formatting import count

MOST_COLUMNS = 40
"""Columns that a view shows at most."""

CUT_CHARS = 600
"""Characters of a sentence that says what is left out: names of columns and paths are
in it, so a page takes it escaped like any other text."""

MOST_BAD = 3
"""Rows that could not be read, of all sources together, that a still picture shows."""


def stale_tables(snapshot: Snapshot) -> str:
    """Which tables, views and functions were changed since; empty: none was.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> stale_tables(Snapshot("q", RunState.FINISHED, stale=("clicks",)))
    'stale: clicks was changed after this run began; run the cell again'
    """
    if not snapshot.stale:
        return ""
    were = "was" if len(snapshot.stale) == 1 else "were"
    return (
        f"stale: {' and '.join(snapshot.stale)} {were} changed after this run began; "
        "run the cell again"
    )


def rows_left_out(snapshot: Snapshot) -> str:
    """Which rows and columns of the output are not in the table; empty: all are.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> rows_left_out(Snapshot("q", RunState.RUNNING, rows_kept=1, rows_cut=8))
    'newest 0 of 9 rows; 1 kept'
    """
    if (counts := snapshot.selection_counts) is not None:
        parts = _of_selection(len(snapshot.rows), counts.rows, "row")
    elif snapshot.find:
        hits, shown = snapshot.found_rows[0], len(snapshot.rows)
        parts = [f"the newest {shown:,} of them"] if shown < hits else []
    elif snapshot.updating:
        parts = [_of_result(snapshot)]
    else:
        parts = _newest(len(snapshot.rows), "row", snapshot)
    if (columns := len(snapshot.columns) - MOST_COLUMNS) > 0:
        parts.append(f"{count(columns, 'more column')} not shown")
    return "; ".join(filter(None, parts))


def rows_not_listed(snapshot: Snapshot) -> str:
    """Where the rows are of a picture that lists none; empty: there is none.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> rows_not_listed(Snapshot("q", RunState.FINISHED, rows_kept=26))
    'Run.table() has the 26 rows, and --view all shows them too'
    """
    rows = snapshot.result_rows if snapshot.updating else snapshot.rows_kept
    if not rows:
        return ""
    which = "" if not snapshot.rows_cut else f" (of {count(_came(snapshot))})"
    return (
        f"{snapshot.handle}.table() has the {count(rows, 'row')}{which}, and "
        "--view all shows them too"
    )


def changes_left_out(snapshot: Snapshot) -> str:
    """Which changes of the output are not in the list; empty: all are."""
    if (counts := snapshot.selection_counts) is not None:
        shown = len(snapshot.changes)
        return "; ".join(_of_selection(shown, counts.changes, "change"))
    return "; ".join(_newest(len(snapshot.changes), "change", snapshot))


def _of_selection(shown: int, belonging: int, noun: str) -> list[str]:
    if not belonging:
        return [f"no {noun} of those that are kept belongs to what is selected"]
    if shown == belonging:
        return []
    return [f"newest {shown:,} of {count(belonging, noun)} of what is selected"]


def _newest(shown: int, what: str, snapshot: Snapshot) -> list[str]:
    parts, came = [], _came(snapshot)
    is_cut = came and (snapshot.rows_cut or snapshot.cut_text)
    if what == "row" and snapshot.order_text and came:
        parts.append(_sorted(shown, came, snapshot))
    elif shown < came:
        parts.append(f"newest {shown:,} of {count(came, what)}")
        # Of a run without windows that has finished the lesson says it.
        if what == "row" and snapshot.windowed and not is_cut:
            parts.append(f"{snapshot.handle}.table() has all")
    if is_cut:
        parts.append(snapshot.cut_text or f"{count(snapshot.rows_kept)} kept")
    return parts


def _came(snapshot: Snapshot) -> int:
    return snapshot.rows_kept + snapshot.rows_cut


def _of_result(snapshot: Snapshot) -> str:
    shown, rows = len(snapshot.rows), snapshot.result_rows
    if rows is None:
        table = f"{snapshot.handle}.table()"
        return f"the result is not known, as {table} says: look at its changes"
    if not shown and rows:
        return (
            f"the result has {count(rows, 'row')}, too many to be shown as they "
            f"change: {snapshot.handle}.table() has them"
        )
    if snapshot.order_text and rows:
        return _sorted(shown, rows, snapshot)
    return f"the last {shown:,} to change of {count(rows, 'row')}" * (shown < rows)


def _sorted(shown: int, rows: int, snapshot: Snapshot) -> str:
    return f"first {shown:,} of {count(rows, 'row')}, by {snapshot.order_text}"


def late_count(snapshot: Snapshot) -> str:
    """How many rows were late, as far as that is known.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> late_count(Snapshot("q", RunState.RUNNING, late_rows=1800, late_exact=False))
    'up to 1,800'
    """
    return ("" if snapshot.late_exact else "up to ") + count(snapshot.late_rows)


def late_in_words(snapshot: Snapshot) -> str:
    """The same, and how many results missed a row.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> late_in_words(Snapshot("q", RunState.RUNNING, late_rows=1, late_results=3))
    '1 late in 3 results'
    """
    several = snapshot.late_results > 1
    where = f" in {snapshot.late_results} results" if several else ""
    return f"{late_count(snapshot)} late{where}"


def outputs_left_out(snapshot: Snapshot) -> str:
    """Which outputs of the run are not shown, and where they are; empty: there is one.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> outputs_left_out(Snapshot("q", RunState.RUNNING, handle="q", more_outputs=1))
    '1 more output: q.table(1)'
    """
    more, run = snapshot.more_outputs, snapshot.handle
    if not more:
        return ""
    tables = f"{run}.table(1)" + (f" to {run}.table({more})" if more > 1 else "")
    return f"{count(more, 'more output')}: {tables}"


def not_written(snapshot: Snapshot) -> str:
    """Which tables of INSERTs get no rows; empty: all that there are do.

    >>> from arroyo_nb.run.observe.snapshot import RunState
    >>> not_written(Snapshot("q", RunState.FINISHED, unwritten=("out",)))
    "previewed only: nothing is written to 'out'; --sinks writes"
    """
    tables = ", ".join(f"'{name}'" for name in snapshot.unwritten)
    if not tables:
        return ""
    return f"previewed only: nothing is written to {tables}; --sinks writes"


def dropped_rows(snapshot: Snapshot) -> int:
    """How many rows could not be read, of all sources together."""
    return sum(source.dropped_rows for source in snapshot.sources)


def bad_sample(snapshot: Snapshot) -> tuple[str, list[str]]:
    """How many rows were dropped, and a few of them with what is wrong; both empty
    where none was kept."""
    bad = [f"{s.name}: {text}" for s in snapshot.sources for text in s.bad]
    if not bad:
        return "", []
    dropped = dropped_rows(snapshot)
    such = ", such as" if dropped > min(len(bad), MOST_BAD) else ""
    return f"{count(dropped, 'bad row')} dropped{such}:", bad[:MOST_BAD]


def windows_left_out(
    snapshot: Snapshot, hidden: int, *, late: int = 0, columns: bool = False
) -> str:
    """What the picture of the windows shows, and which of them it leaves out.

    Parameters
    ----------
    snapshot
        What is drawn.
    hidden
        How many windows the picture has no room for.
    late
        How many rows were late for those.
    columns
        Whether a window is a column.
    """
    parts = [snapshot.window_text] if snapshot.window_text else []
    if snapshot.density:
        parts += session_counts(snapshot)
        parts.append("columns: rows by event time, all keys")
    elif snapshot.sessions:
        is_open = any(bar.state is WindowState.OPEN for bar in snapshot.windows)
        near = "; open ones that are near each other may be one bar until they close"
        merged = any(bar.seams for bar in snapshot.windows)
        seams = ", a dashed line where two became one" if merged else ""
        parts.append(f"a bar is a session{seams}{near if is_open else ''}")
    elif columns:
        parts.append("a column is a window, drawn where it ends, as high as its rows")
    if hidden:
        noun = "bar" if snapshot.sessions else "window"
        which = "other" if columns else "earlier"
        lost = f", {count(late)} late in them" if late else ""
        parts.append(f"{count(hidden, f'{which} {noun}')} not drawn{lost}")
        parts.append(f"{snapshot.handle}.windows() has all")
    return " · ".join(parts)


def session_counts(snapshot: Snapshot) -> list[str]:
    """How many sessions are final and how many may still change."""
    parts = [f"{count(snapshot.closed_sessions, 'session')} closed: final"]
    if snapshot.open_sessions is not None:
        parts.append(f"{count(snapshot.open_sessions)} open: may change")
    return parts


def trace_left_out(snapshot: Snapshot) -> str:
    """What of the run's windows and batches is not known in full; empty: all is."""
    parts = []
    if snapshot.windows_cut:
        parts.append(f"{count(snapshot.windows_cut, 'closed window')} no longer kept")
    if not snapshot.exact:
        parts.append(
            "counts of windows are near: some batches spread over too many of them, "
            "and neighbours were counted together"
        )
    if not snapshot.late_exact:
        parts.append(
            "late rows are counted by pieces of event time: at most so many; "
            f"{snapshot.handle}.late() lists them"
        )
    if snapshot.recorded_to is not None:
        late = f", and {snapshot.handle}.late() lists none of their rows"
        parts.append(
            f"batches after {snapshot.recorded_to:,} are counted but not recorded: "
            f"no view goes back to them{late * snapshot.windowed}"
        )
    return "; ".join(parts)
