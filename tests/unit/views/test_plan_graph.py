"""The plan as a picture: where its operators stand, and what is said of each."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st
from result_scenes import BATCHED, CHAIN, DIFFERENCE, JOINED, SELF_JOIN, long_plan
from scenes import TUMBLE

from arroyo_nb.run.observe.snapshot import PlanStep, Selection, Snapshot
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections.plan import VIEW
from arroyo_nb.views.sections.plan.graph import plan_graph
from arroyo_nb.views.sections.plan.layout import layout

PLANS = {"chain": CHAIN, "joined": JOINED, "self": SELF_JOIN, "30": long_plan(30)}


def planned(steps: tuple[PlanStep, ...], **more: object) -> Snapshot:
    return replace(TUMBLE, plan=steps, **more)


def check_layout(steps: tuple[PlanStep, ...]) -> None:
    placed = layout(steps)
    places = placed.places
    assert set(places) == {step.number for step in steps}
    for step in steps:
        for source in step.inputs:
            assert places[source].layer < places[step.number].layer
    # No two boxes of a layer overlap, and no line runs through a box.
    taken = [(p.layer, p.column) for p in places.values()]
    for one, other in combinations(taken, 2):
        assert one[0] != other[0] or abs(one[1] - other[1]) >= 1
    for line in placed.lines:
        between = range(places[line.source].layer + 1, places[line.reader].layer)
        assert [over.layer for over in line.over] == list(between)
        for over in line.over:
            for layer, column in taken:
                assert over.layer != layer or abs(over.column - column) > 0.5


@pytest.mark.parametrize("name", PLANS)
def test_readers_stand_below_and_nothing_overlaps(name: str) -> None:
    check_layout(PLANS[name])


@st.composite
def plans(draw: st.DrawFn) -> tuple[PlanStep, ...]:
    """Any plan with one sink, whose operators are all read."""
    made: list[PlanStep] = []
    unread: list[int] = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        known = [step.number for step in made]
        inputs: tuple[int, ...] = ()
        if known:
            inputs = tuple(draw(st.lists(st.sampled_from(known), max_size=3)))
        made.append(PlanStep(number, f"step {number}", "operator", inputs))
        unread = [n for n in unread if n not in inputs] + [number]
    made.append(PlanStep(len(made) + 1, "result", "sink", tuple(unread)))
    return tuple(made)


@settings(deadline=None)
@given(plans())
def test_any_plan_has_places(steps: tuple[PlanStep, ...]) -> None:
    placed = layout(steps)
    assert set(placed.places) == {step.number for step in steps}
    taken = [(p.layer, p.column) for p in placed.places.values()]
    for one, other in combinations(taken, 2):
        assert one[0] != other[0] or abs(one[1] - other[1]) >= 1
    sinks = [s.number for s in steps if s.kind == "sink"]
    assert placed.places[sinks[0]].layer == placed.layers - 1
    assert len(placed.lines) == sum(len(step.inputs) for step in steps)


@pytest.mark.parametrize("name", PLANS)
def test_a_graph_is_a_whole_picture_with_all_boxes_in_it(name: str) -> None:
    drawn = plan_graph(planned(PLANS[name]), live=True)
    root = ElementTree.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [group for group in root if group.attrib.get("data-key", "")[:1] == "p"]
    assert len(boxes) == len(PLANS[name])
    for group in boxes:
        x, y = map(float, re.findall(r"[\d.]+", group.attrib["transform"]))
        rect = next(child for child in group if child.tag.endswith("rect"))
        assert 0 <= x <= width - float(rect.attrib["width"])
        assert 0 <= y <= height - float(rect.attrib["height"])
        assert group.attrib["tabindex"] == "0"
    assert "NaN" not in drawn
    assert len(drawn.encode()) <= 30_000


def test_says_words_badges_rates_and_state() -> None:
    text = Page(VIEW.live(planned(CHAIN), "the text of it")).text
    for said in (
        "FROM flights (sample)",
        "1,815 rows read · 12.4k rows/s",
        "state 54 rows, 17.8 KB",
        "9 rows out",
        "≠ differs",
        f"≠ differs: {DIFFERENCE}",
        "the text of it",
    ):
        assert said in text
    assert f"≈ micro-batch: {BATCHED}" in Page(VIEW.live(planned(JOINED), "")).text


def test_a_chosen_operator_names_its_line() -> None:
    chosen = planned(CHAIN, selected=Selection(step=4))
    page = Page(VIEW.live(chosen, ""))
    assert "line 5: " in page.text
    assert "GROUP BY 1, 2" in page.text
    assert 'data-do="select step 4" aria-pressed="true"' in VIEW.live(chosen, "")
    elsewhere = planned(CHAIN, selected=Selection(step=5 - 3))
    assert "line 3: " in Page(VIEW.live(elsewhere, "")).text
    unwritten = planned(JOINED, selected=Selection(step=3))
    assert "a view of an earlier one" in Page(VIEW.live(unwritten, "")).text


def test_what_stays_is_an_image_and_the_text() -> None:
    made = static_html.bundle(planned(JOINED), view="plan", plan="Sink delays")
    page = Page(made["text/html"])
    assert "img" in page.tags
    assert "svg" not in page.tags
    assert "Sink delays" in page.text
    assert "data-do" not in made["text/html"]
    assert made["text/plain"].endswith("Sink delays")


def test_a_run_without_steps_has_the_text_only() -> None:
    assert plan_graph(TUMBLE, live=True) == ""
    assert VIEW.live(TUMBLE, "Sink delays").startswith("<pre")
    assert "Sink delays" in body(TUMBLE, view="plan", plan="Sink delays")
