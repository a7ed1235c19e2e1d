"""Names in a state folder that more than one module reads or writes."""

from __future__ import annotations

LOCK, OUTPUTS, ROWS = "lock", "outputs", "rows"

JOB_NOTES, STOP_REQUEST = "job.json", "stop"
"""Of a job: which process it is, and that it is to stop."""

HEARTBEAT, BEAT = "heartbeat", "beat\n"
"""The source of beats, by which idle keys are found, and what a beat is."""
