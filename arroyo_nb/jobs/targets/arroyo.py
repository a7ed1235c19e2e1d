"""Arroyo itself: the script that ``arroyo run`` takes, and the body of its REST API.

A script that only the default mode runs is refused with what Arroyo would say, and so
are tables that only arroyo_nb has. Values of environment variables are Arroyo's to
find: both files have references.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from arroyo_nb.connectors import CONNECTORS, format_options
from arroyo_nb.errors import ArroyoError, Unsupported, raise_all
from arroyo_nb.jobs.rules import LintedJob
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.targets import Delivery
from arroyo_nb.plan import Plan
from arroyo_nb.plan.expressions.intervals import interval_text
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.plan.tables.disorder import DISORDER_OPTIONS
from arroyo_nb.sql.statements import SetOption

QUERY, BODY = "arroyo/query.sql", "arroyo/pipeline.json"
STATE = "arroyo/state"

LEAST_INTERVAL, LONGEST_INTERVAL = timedelta(seconds=1), timedelta(days=1)
"""Between which Arroyo takes an interval between checkpoints."""

_MICROSECOND = timedelta(microseconds=1)


class ArroyoTarget:
    """``arroyo run query.sql``, or ``POST /api/v1/pipelines`` with pipeline.json."""

    name = "arroyo"
    doc = "Arroyo itself"
    aliases: tuple[str, ...] = ()
    runs_here = False

    def deliver(self, job: JobFile, plan: Plan, folder: Path) -> Delivery:
        """The script, and the body of the API."""
        try:
            raise_all(_refusals(LintedJob(job.spec, plan)))
        except ArroyoError as error:
            raise job.located(error) from None
        query = _query(job.spec, plan)
        body = json.dumps(_body(job.spec, query), indent=2, ensure_ascii=False)
        return Delivery(
            shlex.join(_command(job.spec, folder)), {QUERY: query, BODY: f"{body}\n"}
        )


def _refusals(job: LintedJob) -> Iterator[ArroyoError]:
    found = (pair for sink in job.plan.sinks for pair in refused_by_arroyo(sink))
    # Several queries read one node of a view.
    for message, span in dict.fromkeys((said, node.span) for node, said in found):
        yield Unsupported(f"Arroyo refuses this: {message}", span=span)
    for table in job.tables:
        connector = CONNECTORS.get(table.connector)
        info = connector.info
        options = (*info.options, *DISORDER_OPTIONS)
        if (format_ := table.spec.options.get("format")) is not None:
            options += format_options(connector, str(format_))
        if not info.in_arroyo:
            span = job.option(table, "connector")
            message = f"Arroyo has no connector '{table.connector}'"
            yield Unsupported(message, span=span)
        for option in options:
            given = table.spec.options.get(option.name)
            if not option.in_arroyo and given is not None:
                span = job.option(table, option.name)
                yield Unsupported(f"Arroyo has no option '{option.name}'", span=span)


def _query(spec: JobSpec, plan: Plan) -> str:
    """The script, with the time to live that comes before what it SETs."""
    statements = [*(table.sql for table in spec.tables), spec.sql.rstrip()]
    if spec.options.ttl is not None:
        choice = f"SET updating_ttl = INTERVAL '{interval_text(spec.options.ttl)}'"
        statements.insert(0, choice)
        # Of several the last counts, except for the views before it.
        if any(isinstance(s, SetOption) for s in plan.statements):
            statements.append(choice)
    return "\n;\n".join(statements) + "\n"


def _body(spec: JobSpec, query: str) -> dict[str, Any]:
    """PipelinePost of the REST API."""
    body: dict[str, Any] = {
        "name": spec.name,
        "query": query,
        "parallelism": spec.options.parallelism or 1,
    }
    if spec.udfs:
        body["udfs"] = [
            {"definition": udf.source, "language": udf.language} for udf in spec.udfs
        ]
    if (trigger := spec.options.trigger) is not None:
        interval = min(max(trigger, LEAST_INTERVAL), LONGEST_INTERVAL)
        body["checkpoint_interval_micros"] = interval // _MICROSECOND
    if spec.tags:
        body["tags"] = dict(spec.tags)
    return body


def _command(spec: JobSpec, folder: Path) -> list[str]:
    parallelism = str(spec.options.parallelism or 1)
    state = (folder / STATE).absolute().as_uri()
    options = ["--name", spec.name, "--parallelism", parallelism, "--state-dir", state]
    return ["arroyo", "run", *options, str(folder / QUERY)]


TARGET = ArroyoTarget()
