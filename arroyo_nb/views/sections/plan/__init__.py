"""The plan of a query: a graph of its operators, and its text below it."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import PlanStep, Snapshot
from arroyo_nb.views.formatting import escaped, lines
from arroyo_nb.views.inert import SOFT, image
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.sections.plan.graph import (
    LEGEND,
    notes,
    plan_graph,
    step_numbers,
)
from arroyo_nb.views.selection import UNSELECT

PLAN_CHARS = 40_000
NOTE_CHARS = 400

CHOSEN = "note chosen"
"""Class of what is said of the operator that was clicked."""

STYLE = """
.arroyo .step[role=button] { cursor: pointer; }
.arroyo .step:focus-visible { outline: none; }
.arroyo .step:focus-visible rect { stroke: var(--water); stroke-width: 2; }
.arroyo .plan-graph { overflow-x: auto; }
.arroyo .plan-graph + p { border-top: 1px solid var(--line); }
"""


class PlanView(PanelViewBase):
    """The graph and the text of the plan."""

    name = "plan"
    title = "the streaming plan of the query"
    place = 50
    shows_plan = True
    style = STYLE

    def live(self, snapshot: Snapshot, plan: str) -> str:
        """The graph, what was clicked in it, and the text of the plan."""
        drawn = plan_graph(snapshot, live=True)
        parts = [
            f'<div class="plan-graph" data-key="plan">{drawn}</div>' if drawn else "",
            *(
                f'<p class="{look}">{text}{UNSELECT * (look == CHOSEN)}</p>'
                for look, text in _said(snapshot)
            ),
            f'<pre class="plan">{lines(plan, PLAN_CHARS)}</pre>' if plan else "",
        ]
        return "".join(parts)

    def static(
        self,
        snapshot: Snapshot,
        plan: str,
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The graph as an image, and the text of the plan."""
        drawn = plan_graph(snapshot, live=False)
        parts = [
            image(snapshot, drawn, "the plan") if drawn else "",
            *(f'<p style="{SOFT}">{text}</p>' for _, text in _said(snapshot)),
            f'<pre style="white-space:pre-wrap">{lines(plan, PLAN_CHARS)}</pre>'
            if plan
            else "",
        ]
        return "".join(parts)


def _said(snapshot: Snapshot) -> list[tuple[str, str]]:
    """What stands below the graph, as HTML with its class."""
    steps, chosen = snapshot.plan, snapshot.selected
    if not steps:
        return []
    said = [
        (CHOSEN, _of_step(step))
        for step in steps
        if chosen is not None and step.number == chosen.step
    ]
    said.append(("soft", escaped(LEGEND, NOTE_CHARS)))
    return said + [("soft", escaped(note, NOTE_CHARS)) for note in notes(steps)]


def _of_step(step: PlanStep) -> str:
    where = (
        f"line {step.line}: <code>{escaped(step.sql, NOTE_CHARS)}</code>"
        if step.line
        else "not written in this script: it is of a view of an earlier one"
    )
    numbers = step_numbers(step)
    rest = f" · {escaped(numbers, NOTE_CHARS)}" if numbers else ""
    return f"<b>{escaped(step.text, NOTE_CHARS)}</b> · {where}{rest} "


VIEW = PlanView()
