"""The plan of a query, as its passes leave it."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import lines
from arroyo_nb.views.sections import PanelViewBase

PLAN_CHARS = 40_000


class PlanView(PanelViewBase):
    """The text of the plan."""

    name = "plan"
    title = "the streaming plan of the query"
    place = 50
    shows_plan = True

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The text of the plan, in the live panel."""
        return f'<pre class="plan">{lines(plan, PLAN_CHARS)}</pre>' if plan else ""

    def static(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        plan: str,
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The text of the plan, as static HTML."""
        style = "white-space:pre-wrap"
        return f'<pre style="{style}">{lines(plan, PLAN_CHARS)}</pre>' if plan else ""


VIEW = PlanView()
