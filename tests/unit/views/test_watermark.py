"""The watermark by source, what it waits for, and the histogram of lateness."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from html import escape
from itertools import pairwise

import pytest
from drawing import assert_is_sound, labels, pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import END, STARTING, TUMBLE, UNWINDOWED, UPDATING, at
from time_scenes import MINUTE, TIMES, Stream, failed

from arroyo_nb.run.observe.idle_sources import IdlePeriod
from arroyo_nb.run.observe.lateness import Lateness, LatenessBin
from arroyo_nb.run.observe.snapshot import (
    MarkPoint,
    PartitionProgress,
    RunState,
    Snapshot,
    SourceProgress,
)
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections.watermark import VIEW
from arroyo_nb.views.sections.watermark.histogram import Scale, histogram, in_words
from arroyo_nb.views.sections.watermark.standing import sentences, standings

ONE = TIMES["tumble"].snapshot()
THREE = TIMES["three sources"].snapshot()


@pytest.mark.parametrize("name", TIMES)
def test_each_stream_is_drawn_soundly_and_small(name: str) -> None:
    snapshot = TIMES[name].snapshot()
    for drawn in (snapshot, failed(snapshot)):
        frame = body(drawn, view="watermark", keys=True)
        assert len(frame.encode()) <= 50_000
        curves, lateness = pictures(frame)
        assert_is_sound(curves)
        assert_is_sound(lateness)
        still = static_html.bundle(drawn, view="watermark")["text/html"]
        assert len(still.encode()) <= static_html.MOST_BYTES
        assert still.count("data:image/svg+xml;base64,") == 2


def test_each_source_has_a_line_that_is_named_at_its_end() -> None:
    (curves, _) = pictures(body(THREE, view="watermark"))
    lines = [e for e in curves.iter() if "source" in (e.get("class") or "")]
    assert len(lines) == 2 * 3  # a curve and a label each
    shown = {text for text, _ in labels(curves)}
    assert {"flights 12:10:48", "weather 09:25:27"} <= shown
    assert any(text.startswith("arrivals_of_the_o…") for text in shown)
    (single, _) = pictures(body(ONE, view="watermark"))
    assert not any("source" in (e.get("class") or "") for e in single.iter())


def test_sources_beyond_a_picture_are_those_that_are_ahead() -> None:
    many = Stream(sources=tuple(f"s{i}" for i in range(9)), rows=90, idle=("s8",))
    snapshot = many.snapshot()
    (curves, _) = pictures(body(snapshot, view="watermark"))
    named = {text.split()[0] for text, _ in labels(curves) if re.match(r"s\d ", text)}
    assert len(named) == 6
    assert "s8" in named


def test_the_source_that_holds_the_watermark_back_is_named() -> None:
    (weather,) = (each for each in standings(THREE) if each.holds)
    assert weather.name == "weather"
    assert weather.idle_s > 5
    assert [each.name for each in standings(THREE) if each.idle_s] == ["weather"]
    said = " ".join(sentences(THREE))
    assert "'weather' holds the watermark back: its newest event is 2 h 45 min" in said
    assert "and it is idle: nothing newer came for 10 s" in said
    live = body(THREE, view="watermark")
    assert "◀ holds the watermark back, ◌ idle for 10 s" in live
    still = static_html.bundle(THREE, view="watermark")["text/html"]
    assert "◀ holds the watermark back" in still


def test_the_delay_of_a_source_decides_not_only_its_events() -> None:
    """The watermark is the least of newest event less delay."""
    flights, other, weather = THREE.sources
    sources = (replace(flights, delay=timedelta(hours=9)), other, weather)
    (held,) = (
        each for each in standings(replace(THREE, sources=sources)) if each.holds
    )
    assert held.name == "flights"


@pytest.mark.parametrize(
    ("changed", "said", "holder"),
    [
        ({"state": RunState.STOPPED}, "is 3 h 25 min behind", None),
        ({"watermark": END}, "The input has ended", None),
        ({"watermark": None}, "There is no watermark yet.", "weather"),
        ({"sources": THREE.sources[:1]}, "", None),
    ],
)
def test_what_it_says_depends_on_the_run(
    changed: dict[str, object], said: str, holder: str | None
) -> None:
    snapshot = replace(THREE, **changed)  # type: ignore[arg-type]
    assert said in " ".join(sentences(snapshot))
    held = [each.name for each in standings(snapshot) if each.holds]
    assert held == ([holder] if holder else [])


def test_a_source_without_an_event_holds_everything_back() -> None:
    silent = SourceProgress("silent", 0, None, MINUTE, bounded=False)
    snapshot = replace(THREE, sources=(*THREE.sources, silent), watermark=None)
    assert "'silent' has had no event yet: there is no watermark before." in sentences(
        snapshot
    )
    assert "none yet" in body(snapshot, view="watermark")


def test_idle_partitions_and_ended_sources_are_told() -> None:
    flights, other, weather = THREE.sources
    partitions = (PartitionProgress(0, 1, 1, idle=True), PartitionProgress(1, 1, 1))
    sources = (
        replace(flights, partitions=partitions, idle_partitions=(0,)),
        other,
        replace(weather, ended=True),
    )
    live = body(replace(THREE, sources=sources), view="watermark")
    assert "1 idle partition" in live
    assert "■ has ended" in live
    assert "◌ idle" not in live


def test_a_source_that_came_back_is_told() -> None:
    periods = (
        IdlePeriod("weather", 12, 6.0, 5.1, 17, 9.0),
        IdlePeriod("flights", 19, 9.5, 5.0),
    )
    said = "'weather' was idle from micro-batch 12 to 17, then it came back."
    with_past = replace(THREE, idle_periods=periods)
    assert said in sentences(with_past)
    assert escape(said) in static_html.bundle(with_past, view="watermark")["text/html"]
    assert not any("'flights' was idle" in each for each in sentences(with_past))


def test_the_lag_is_the_delay_and_what_came_since() -> None:
    assert sentences(ONE)[0].startswith(
        "The watermark is 45 min 42 s behind the newest event (12:10:10): "
        "40 min are the delay, 5 min 42 s came since"
    )


def test_without_windows_there_is_no_histogram() -> None:
    for snapshot in (TUMBLE, UNWINDOWED):
        assert histogram(snapshot) == ""
        assert in_words(snapshot) == ""
    assert "No event time seen yet." in body(STARTING, view="watermark")
    assert "No event time seen yet." in body(UPDATING, view="watermark")


def test_the_histogram_says_which_delay_would_have_kept_rows() -> None:
    said = in_words(ONE)
    assert (
        "the newest event of earlier micro-batches had passed the end of the row's 1 h "
        "of event time; the row itself is up to 1 h further behind. It is at most 3 "
        "min 16 s for half of 1,680 rows,"
    ) in said
    assert "With the delay of 40 min, 9 rows were late (0.54 %)." in said
    assert (
        "A delay of more than 48 min 45 s would have kept 99 %, one of more than "
        "1 h 47 min 99.9 %, one of more than 1 h 51 min all."
    ) in said
    svg = histogram(ONE)
    for label in ("delay 40 min", "p50 3 min 16 s", "&gt; 48 min 45 s keeps 99 %"):
        assert f">{label}</text>" in svg
    assert said.split(";")[0][:60] in svg  # who does not see it hears it


def test_columns_beyond_the_delay_look_different() -> None:
    svg = histogram(ONE)
    lateness = ONE.lateness
    assert lateness is not None
    cut = Scale(lateness).at(lateness.delay)
    for kind, x, width in re.findall(
        r'<rect class="(closed|over)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg
    ):
        left, right = float(x), float(x) + float(width)
        assert right <= cut + 0.2 if kind == "closed" else left >= cut - 0.2
    assert 'class="over"' in svg


def test_marks_of_the_same_lateness_are_one() -> None:
    svg = histogram(TIMES["class"].snapshot())
    assert "34 min 5 s keeps 99 %, 99.9 % and all" in svg
    assert "p99 and longest 34 min 5 s" in svg


def test_rows_in_order_are_said_to_be() -> None:
    single = TIMES["one batch"].snapshot()
    assert in_words(single).startswith("No row of 40 is behind: none came when")


lengths = st.timedeltas(timedelta(), timedelta(days=4000))


@st.composite
def latenesses(draw: st.DrawFn) -> Lateness:
    edges = sorted(set(draw(st.lists(lengths, min_size=2, max_size=25))))
    if len(edges) < 2:
        edges = [timedelta(), MINUTE]
    counts = draw(
        st.lists(
            st.integers(0, 10**9), min_size=len(edges) - 1, max_size=len(edges) - 1
        )
    )
    bins = tuple(
        LatenessBin(low, high, rows)
        for (low, high), rows in zip(pairwise(edges), counts, strict=True)
    )
    marks = sorted(draw(st.lists(lengths, min_size=6, max_size=6)))
    late = draw(st.integers(0, 100))
    return Lateness(sum(counts) or 1, late, bins, *marks, draw(lengths), draw(lengths))


@settings(max_examples=150, deadline=None)
@given(latenesses())
def test_any_lateness_is_drawn_soundly(lateness: Lateness) -> None:
    html = histogram(replace(ONE, lateness=lateness))
    for svg in pictures(html):
        assert_is_sound(svg)
    scale = Scale(lateness)
    places = [scale.at(each.low) for each in lateness.bins]
    assert places == sorted(places)


names = st.sampled_from(["a", "b", "c" * 90, "d", "e", "f", "g"])
moments = st.datetimes(at(0), at(24 * 900))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.dictionaries(names, moments), st.none() | moments), max_size=20
    )
)
def test_any_history_of_sources_is_drawn_soundly(
    marks: list[tuple[dict[str, datetime], datetime | None]],
) -> None:
    history = tuple(
        MarkPoint(
            i, i * 0.3, max(seen.values(), default=None), mark, tuple(seen.items())
        )
        for i, (seen, mark) in enumerate(marks)
    )
    sources = tuple(
        SourceProgress(name, 1, moment, MINUTE, bounded=False)
        for name, moment in (marks[-1][0].items() if marks else ())
    )
    run = Snapshot("q", RunState.RUNNING, history=history, sources=sources)
    html = VIEW.live(run, "")
    for svg in pictures(html):
        assert_is_sound(svg)
    assert sum(each.holds for each in standings(run)) <= 1
