"""What the doctor says, as a list: for who asks, and in the picture of a silent run."""

from __future__ import annotations

from arroyo_nb.doctor import quick_findings
from arroyo_nb.run.observe.findings import NOTHING_WRONG, Finding, Report
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.views.formatting import NAME_CHARS, count, escaped, plain
from arroyo_nb.views.inert import SOFT
from arroyo_nb.views.no_rows import HINT_CHARS, MESSAGE_CHARS, sentences

SILENT_S = 5.0
"""A run with input and no output for so long is examined unasked."""


def report(found: Report) -> dict[str, str]:
    """A report as a MIME bundle."""
    name, came = escaped(found.name, NAME_CHARS), _came(found)
    parts = [f"<p><b>{name}</b>: {came}</p>", _items(found.findings)]
    if not found.findings:
        parts.append(f"<p>{NOTHING_WRONG}</p>")
    if found.looked_at:
        parts.append(f'<p style="{SOFT}">{escaped(found.looked_at, HINT_CHARS)}</p>')
    text = "\n".join(plain(line, 600) for line in str(found).splitlines())
    return {"text/html": "".join(parts), "text/plain": text}


def _came(found: Report) -> str:
    return f"{count(found.rows_in, 'row')} in, {count(found.rows_out, 'row')} out"


def _items(findings: tuple[Finding, ...], list_: str = "ol") -> str:
    items = "".join(
        f"<li>{escaped(f.message, MESSAGE_CHARS)}"
        f"<br><b>{escaped(f.hint, HINT_CHARS)}</b></li>"
        for f in findings
    )
    return f"<{list_}>{items}</{list_}>" if items else ""


def unasked(snapshot: Snapshot, *, beside_table: bool) -> str:
    """The same for a run that has had input and no output for a while, as HTML; empty
    else. A table beside it says the first one itself: the others have no numbers then.
    """
    found = silent_findings(snapshot)[beside_table:]
    items = _items(found, "ul" if beside_table else "ol")
    return f'<div class="doctor" data-key="doctor">{items}</div>' * bool(found)


def unasked_text(snapshot: Snapshot) -> list[str]:
    """The same as lines of text."""
    return [sentences(finding) for finding in silent_findings(snapshot)]


def silent_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Why a run is silent that has had input and no output for a while, or has ended
    so; nothing is asked of a run that gives rows."""
    if not snapshot.rows_in or snapshot.rows_out:
        return ()
    ended = snapshot.state in (RunState.FINISHED, RunState.STOPPED)
    if not ended and snapshot.silent_s < SILENT_S:
        return ()
    return quick_findings(snapshot)
