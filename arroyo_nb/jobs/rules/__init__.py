"""What production would do differently, a rule each.

A rule is a function; its name is the code, and its docstring the page that explains it:
``docs/lint.md`` is made of them.
"""

from __future__ import annotations

from arroyo_nb.jobs.rules.queries import (
    arroyo_refuses,
    non_deterministic,
    udf_package,
    unbounded_state,
)
from arroyo_nb.jobs.rules.rule import Job, Rule, Severity
from arroyo_nb.jobs.rules.tables import (
    append_only_sink,
    inline_secret,
    local_address,
    no_sink,
    relative_path,
    sample_source,
)
from arroyo_nb.jobs.rules.times import (
    flushed_at_end,
    idle_partitions,
    micro_batch_lateness,
    no_watermark,
    time_zone,
)

__all__ = ["RULES", "Job", "Rule", "Severity"]

RULES = (
    Rule(inline_secret, Severity.ERROR),
    Rule(sample_source, Severity.WARNING),
    Rule(local_address, Severity.WARNING),
    Rule(relative_path, Severity.WARNING),
    Rule(no_sink, Severity.WARNING),
    Rule(append_only_sink, Severity.WARNING),
    Rule(no_watermark, Severity.WARNING),
    Rule(idle_partitions, Severity.INFO),
    Rule(micro_batch_lateness, Severity.INFO),
    Rule(flushed_at_end, Severity.WARNING),
    Rule(time_zone, Severity.INFO),
    Rule(unbounded_state, Severity.WARNING),
    Rule(non_deterministic, Severity.WARNING),
    Rule(udf_package, Severity.WARNING),
    Rule(arroyo_refuses, Severity.INFO),
)
