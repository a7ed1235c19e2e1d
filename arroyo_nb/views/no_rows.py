"""Why a result has no row (yet), and what brings one: the doctor's first finding."""

from __future__ import annotations

from arroyo_nb.doctor import quick_findings
from arroyo_nb.run.observe.findings import Finding
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.views.formatting import plain

MESSAGE_CHARS, HINT_CHARS = 400, 400


def why_no_row(snapshot: Snapshot) -> str:
    """Two sentences of plain text: the nearest cause, and what to do."""
    if snapshot.state is RunState.FAILED:
        # Why it failed stands above.
        return "No row came out before the run failed."
    start = "No row came out" if snapshot.state.ended else "No row yet"
    found = quick_findings(snapshot)
    if not found:
        return f"{start}."
    if snapshot.state is RunState.STARTING:
        # What to wait for is said below the rows.
        return f"{start}: {plain(found[0].message, MESSAGE_CHARS)}."
    return f"{start}: {sentences(found[0])}"


def sentences(finding: Finding) -> str:
    """A finding and its hint as two sentences."""
    message = plain(finding.message, MESSAGE_CHARS).rstrip(".")
    hint = plain(finding.hint, HINT_CHARS)
    end = "" if hint.endswith(("?", ".")) else "."
    return f"{message}. {hint[:1].upper()}{hint[1:]}{end}"
