"""What production would do differently, a rule each.

A rule is a function; its name is the code, and its docstring the page that explains it:
``docs/reference/lint.md`` is made of them.
"""

from __future__ import annotations

from arroyo_nb.jobs.rules.queries import (
    arroyo_refuses,
    non_deterministic,
    udf_package,
    unbounded_state,
)
from arroyo_nb.jobs.rules.rule import LintedJob, LintRule, Severity
from arroyo_nb.jobs.rules.tables import (
    append_only_sink,
    connector_version,
    delivery_guarantee,
    disorder,
    inline_secret,
    local_address,
    no_sink,
    relative_path,
    sample_source,
    session_path,
)
from arroyo_nb.jobs.rules.times import (
    flushed_at_end,
    idle_partitions,
    micro_batch_lateness,
    no_watermark,
    time_zone,
)

__all__ = ["RULES", "LintRule", "LintedJob", "Severity"]

RULES = (
    LintRule(inline_secret, Severity.ERROR),
    LintRule(sample_source, Severity.WARNING),
    LintRule(disorder, Severity.WARNING),
    LintRule(local_address, Severity.WARNING),
    LintRule(relative_path, Severity.WARNING),
    LintRule(session_path, Severity.WARNING),
    LintRule(no_sink, Severity.WARNING),
    LintRule(append_only_sink, Severity.WARNING),
    LintRule(delivery_guarantee, Severity.INFO),
    LintRule(no_watermark, Severity.WARNING),
    LintRule(idle_partitions, Severity.INFO),
    LintRule(micro_batch_lateness, Severity.INFO),
    LintRule(flushed_at_end, Severity.WARNING),
    LintRule(time_zone, Severity.INFO),
    LintRule(connector_version, Severity.INFO),
    LintRule(unbounded_state, Severity.WARNING),
    LintRule(non_deterministic, Severity.WARNING),
    LintRule(udf_package, Severity.WARNING),
    LintRule(arroyo_refuses, Severity.INFO),
)
