"""Whether a job that was changed can go on from the checkpoint of before: its spec is
compared here, its plan in :mod:`arroyo_nb.state.compatibility`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.plan import Plan
from arroyo_nb.state.compatibility import (
    Difference,
    Edit,
    Verdict,
    plan_differences,
    verdict,
)
from arroyo_nb.state.identity import plan_identity


@dataclass(frozen=True)
class JobVersion:
    """A job as it was or is: its spec, and the plan of that."""

    spec: JobSpec
    plan: Plan

    @cached_property
    def identity(self) -> str:
        """By which a state folder knows the query of the plan."""
        return plan_identity(self.plan)


def judge(
    old: JobVersion,
    new: JobVersion,
    *,
    new_spec: JobSpec | None = None,
    forgets: bool | None = None,
) -> Verdict:
    """What becomes of the checkpoint of a job that is changed.

    Two jobs of one plan are compatible, and no others: the folder of a run refuses the
    state of another plan.

    Parameters
    ----------
    new_spec
        What is compared in place of the spec of the new one.
    forgets
        Whether the operators of the state look for idle keys; None: as the old plan
        does.
    """
    is_same = old.identity == new.identity
    found = [*_of_specs(old.spec, new_spec or new.spec)]
    if forgets is None:
        forgets = old.plan.forgets_idle_keys
    in_plan = list(
        plan_differences(old.plan, new.plan, is_same=is_same, forgets=forgets)
    )
    found += in_plan
    changed = {udf.name for udf in {*old.spec.udfs} ^ {*new.spec.udfs}}
    # Where an operator calls one, what becomes of its state says more.
    if changed and not any(d.edit in _OF_UDFS for d in in_plan):
        found.append(Difference(Edit.UDF, f"the UDF {' and '.join(sorted(changed))}"))
    if is_same and old.spec.script != new.spec.script:
        found.append(Difference(Edit.WORDING, "the wording of the script"))
    return verdict(found)


_OF_UDFS = (Edit.UDF, Edit.AGGREGATE_UDF, Edit.TAKEN_BACK)


def _of_specs(old: JobSpec, new: JobSpec) -> Iterator[Difference]:
    one, other = old.options, new.options
    if old.name != new.name:
        yield Difference(Edit.NAME, "the name", old.name, new.name)
    if old.state != new.state:
        yield Difference(Edit.STATE, "the state folder", old.state, new.state)
    if one.trigger != other.trigger:
        yield Difference(Edit.TRIGGER, "the trigger")
    if one.parallelism != other.parallelism:
        yield Difference(Edit.PARALLELISM, "the parallelism")
    if one.real_time != other.real_time:
        yield Difference(Edit.REAL_TIME, "the mode of Spark")
    if one.strict != other.strict:
        yield Difference(Edit.MODE, "the mode")
