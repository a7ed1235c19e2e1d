"""Rules about what a query keeps, computes and calls."""

from __future__ import annotations

from collections.abc import Iterator

from arroyo_nb.jobs.rules.rule import Hit, LintedJob
from arroyo_nb.plan.expressions.functions import volatile
from arroyo_nb.plan.nodes import (
    LatestRow,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
)
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.run.option_values import duration_literal
from arroyo_nb.udfs.languages import PYTHON
from arroyo_nb.udfs.python.packages import distribution, imported_packages


def unbounded_state(job: LintedJob) -> Iterator[Hit]:
    """State grows with the keys that come.

    A query without windows keeps something for every key: the aggregate, the rows of
    both sides of a join, the ranked rows. A key is forgotten only when it has been idle
    for `updating_ttl`, which is 24 hours where nobody chooses; over sources that end,
    none is. Each row of a source of changes is kept until a change deletes it.

    Choose how long a key matters, as in `SET updating_ttl = INTERVAL '1 hour'` or
    `--ttl 1h`; or group by a window, whose state ends with it.
    """
    for rows in job.of(LatestRow):
        said = f"every row of '{rows.table}' is kept until it is deleted there"
        yield Hit(said, rows.span)
    if job.plan.is_ttl_chosen or not job.plan.forgets_idle_keys:
        return
    for node in (
        *(n for n in job.of(UpdatingAggregate) if n.keys),
        *job.of(UpdatingRank),
        *job.of(UpdatingJoin),
    ):
        ttl = duration_literal(job.plan.updating_ttl)
        said = f"each key is kept for {ttl}, the default"
        yield Hit(said, node.span)


def non_deterministic(job: LintedJob) -> Iterator[Hit]:
    """A value is another one each time it is computed.

    After a failure a micro-batch is computed again. `random()` and `uuid()` then give
    other values than before: what was already written and what is written now differ,
    and a sink that leaves out what it has already written does not recognise it.

    Make the value of what the row says, as in `md5(id)`, or at the source.
    """
    for part in job.calls():
        if volatile(part):
            said = f"{part.name}() gives another value when a batch is computed again"
            yield Hit(said, part.meta.get("span"))


def arroyo_refuses(job: LintedJob) -> Iterator[Hit]:
    """Arroyo itself would not run this.

    It has one clear meaning, and is run here and on Spark; Arroyo refuses it with the
    message that is quoted. The target `arroyo` therefore refuses the job.

    `--strict` finds such queries while they are explored. The message says what is
    missing; mostly it is a window.
    """
    for sink in job.plan.sinks:
        for node, message in refused_by_arroyo(sink):
            yield Hit(f"Arroyo would say: {message}", node.span)


def udf_package(job: LintedJob) -> Iterator[Hit]:
    """A function imports a package that the spec does not list.

    Where the job runs there is what its spec lists under `packages`, and no more. The
    source of the function is read, never run.

    List the package with its version.
    """
    listed = {name.lower().replace("-", "_") for name in job.spec.packages}
    for udf in job.spec.udfs:
        if udf.language != PYTHON:
            continue
        for name in sorted(imported_packages(udf.source)):
            package = distribution(name)
            if package.lower().replace("-", "_") in listed:
                continue
            yield Hit(f"'{udf.name}' imports '{package}', which is not in 'packages'")
