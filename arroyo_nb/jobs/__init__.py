"""From a cell to a job: its spec, what production would do differently, its targets.

A job is text that a team can review: nothing of the notebook that it came from is
needed to run it, and reading it executes nothing.
"""

from __future__ import annotations

SUFFIXES = (".yaml", ".yml")
"""What the files of job specs end with."""

JOBS = "jobs"
"""Where the folders of jobs are, beside their notebook."""

SPEC = "job.yaml"
LIBRARIES = "udfs"
"""Where the compiled libraries of Rust UDFs are, beside the spec."""
"""The file in such a folder that is the job."""

PLAN = "plan.txt"
"""The file beside it that has its plan, as it was reviewed."""
