"""The doctor on made-up situations: the nearest cause first, with what to do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from situations import (
    BUYS,
    CLICKS,
    CLOSED_WINDOWS,
    GAVE,
    JOINED,
    MATCH,
    NO_INPUT,
    NONE_PASSED,
    PLAIN,
    SITUATIONS,
    WINDOWED,
    Situation,
    at,
    probed,
)

from arroyo_nb.catalog import Catalog
from arroyo_nb.doctor import diagnose, quick_findings
from arroyo_nb.doctor.examination import Examination, FilterCount, Probed, TimeSpread
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.findings import Finding, Report
from arroyo_nb.run.observe.query_facts import QueryFacts, query_facts
from arroyo_nb.run.observe.snapshot import OutputProgress, RunState, Snapshot
from arroyo_nb.views import static_html
from arroyo_nb.views.doctor import report
from arroyo_nb.views.panel import frame


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_the_cause_comes_first(situation: Situation) -> None:
    found = diagnose(situation.examination)
    assert found.answer is not None
    assert found.answer.code == situation.code, str(found)
    assert situation.message in found.answer.message
    assert situation.hint in found.answer.hint


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_a_finding_is_a_sentence_and_one_thing_to_do(situation: Situation) -> None:
    found = diagnose(situation.examination).findings
    codes = [finding.code for finding in found]
    assert len(codes) == len(set(codes)), "the same is said twice"
    for finding in found:
        assert finding.message
        assert finding.hint
        assert finding.message.endswith("...") or finding.message[-1] != "."


def test_a_run_that_gives_its_rows_has_no_finding() -> None:
    closing = replace(GAVE, windowed=True, watermark=at(11), windows=WINDOWED.windows)
    for healthy in (GAVE, closing, replace(GAVE, state=RunState.FINISHED)):
        found = diagnose(Examination(healthy, now=at(13)))
        assert found.findings == ()
        assert "nothing is wrong" in str(found)


def test_rows_are_read_again_only_where_none_came_out() -> None:
    def refuse() -> Probed:
        raise AssertionError("rows were read again")

    for snapshot in (GAVE, NO_INPUT, replace(PLAIN, state=RunState.FAILED)):
        diagnose(Examination(snapshot, refuse))
    with pytest.raises(AssertionError, match="read again"):
        diagnose(Examination(PLAIN, refuse))


def test_an_ended_run_without_a_row_whose_rows_were_late_is_not_healthy() -> None:
    for facts in (QueryFacts(), QueryFacts(joins=("a = b",))):
        ended = replace(CLOSED_WINDOWS, late_rows=2, facts=facts)
        found = diagnose(Examination(ended, probed))
        assert "late-rows" in [finding.code for finding in found.findings]


def test_the_plan_s_hint_of_null_is_said_once() -> None:
    (situation,) = (s for s in SITUATIONS if "comparison with NULL beside" in s.name)
    assert len(diagnose(situation.examination).findings) == 1


@pytest.mark.parametrize("dropped", [True, False])
def test_an_empty_side_is_told_unless_its_condition_is(dropped: bool) -> None:
    side = replace(MATCH.left, rows=0, keyed=0, keys=(), dropped=dropped)
    filters = (FilterCount(6, 0, (NONE_PASSED,), "in ON"),) if dropped else ()
    counts = probed(filters=filters, matches=(replace(MATCH, left=side, shared=0),))
    found = diagnose(Examination(JOINED, lambda: counts))
    codes = [finding.code for finding in found.findings]
    assert codes == (["filtered"] if dropped else ["empty-side"])


def test_rows_are_read_again_once() -> None:
    asked = []

    def count() -> Probed:
        asked.append(1)
        return probed()

    found = diagnose(Examination(JOINED, count))
    assert asked == [1]
    assert found.looked_at == "counted in rows that were read again"


def test_the_watermark_is_short_where_both_sources_are() -> None:
    both = replace(WINDOWED, sources=(CLICKS, BUYS))
    (found,) = quick_findings(both)
    assert found.code == "watermark-short"
    assert found.hint == (
        "an event of 2026-11-27 13:00:00 or later in 'clicks' and one of 2026-11-27 "
        "13:00:00 or later in 'buys' move it there"
    )


def test_a_source_that_has_ended_holds_nothing() -> None:
    ended = replace(BUYS, max_event_time=at(8), ended=True, bounded=True)
    found = quick_findings(replace(WINDOWED, sources=(CLICKS, ended)))
    assert [finding.code for finding in found] == ["watermark-short"]


def test_a_break_between_rows_is_no_jump() -> None:
    # Nine hours of the night, after ten hours of the day: one row is late then.
    spread = TimeSpread("clicks", 1815, 0, at(2), at(12), at(12, 21))
    night = replace(WINDOWED, late_rows=1)
    found = diagnose(Examination(night, lambda: probed(times=(spread,)), at(13)))
    assert found.answer is not None
    assert found.answer.code == "watermark-short"


@pytest.mark.parametrize(
    ("sql", "facts"),
    [
        ("SELECT counter FROM t", QueryFacts()),
        ("SELECT counter FROM t LIMIT 0", QueryFacts(limit=0)),
    ],
)
def test_what_a_plan_says_of_its_query(sql: str, facts: QueryFacts) -> None:
    plan = plan_script(f"{TICKS}{sql}", Catalog())
    assert query_facts(plan.sinks[0], plan.source) == facts


TICKS = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);\n"


@pytest.mark.parametrize(
    ("where", "shown", "never"),
    [
        ("t.counter > 5", ["t.counter > 5 (line 2)"], 0),
        ("counter > 5 AND true", ["counter > 5 (line 2)", "TRUE"], 0),
        ("(counter = 1 OR counter = 2)", ["(counter = 1 OR counter = 2) (line 2)"], 0),
        ("false", ["FALSE"], 1),
        ("1 = 2", ["1 = 2 (line 2)"], 1),
        ("1 = 1", ["1 = 1 (line 2)"], 0),
        ("counter = NULL", ["counter = NULL (line 2)"], 1),
        ("counter > '7'", ["counter > '7' (line 2)"], 0),
        ("counter IN (7, 8)", ["counter IN (7, 8) (line 2)"], 0),
        ("(counter) IN (7, abs(8))", ["(counter) IN (7, abs(8)) (line 2)"], 0),
        ("counter = NULL OR counter IN (7, 8)",
         ["counter = NULL OR counter IN (7, 8) (line 2)"], 0),
        ("counter IS NOT NULL", ["counter IS NOT NULL (line 2)"], 0),
        ("NOT (counter > 7)", ["NOT (counter > 7) (line 2)"], 0),
        ("-counter > 7.5", ["-counter > 7.5 (line 2)"], 0),
        ("now() > '2026-06-01'", ["now() > '2026-06-01' (line 2)"], 0),
        ("now() - INTERVAL '1 day' > '2026-06-01'",
         ["now() - INTERVAL '1 day' > '2026-06-01' (line 2)"], 0),
        ("now()::date = '2026-01-01'", ["now()::date = '2026-01-01' (line 2)"], 0),
    ],
)  # fmt: skip
def test_a_condition_is_shown_as_it_was_written(
    where: str, shown: list[str], never: int
) -> None:
    plan = plan_script(f"{TICKS}SELECT counter FROM t WHERE {where}", Catalog())
    facts = query_facts(plan.sinks[0], plan.source)
    assert [str(condition) for condition in facts.conditions] == shown
    assert len(facts.never_true) == never


def test_a_condition_of_a_view_of_another_cell_has_no_line() -> None:
    first = f"{TICKS}CREATE VIEW v AS SELECT counter FROM t WHERE counter > 5"
    catalog = plan_script(first, Catalog()).catalog
    plan = plan_script("SELECT counter FROM v -- and more text " + "x" * 99, catalog)
    facts = query_facts(plan.sinks[0], plan.source)
    assert [str(condition) for condition in facts.conditions] == ["counter > 5"]


def test_a_session_s_gap_and_what_joins_compare() -> None:
    plan = plan_script(
        f"{TICKS}SELECT session(INTERVAL '30 minutes') AS w, count(*) AS n FROM t "
        "GROUP BY w; SELECT a.counter FROM t a JOIN t b ON a.counter = b.counter",
        Catalog(),
    )
    sessions, join = (query_facts(sink, plan.source) for sink in plan.sinks)
    assert sessions.gap == timedelta(minutes=30)
    assert join.joins == ("a.counter = b.counter",)


@pytest.mark.parametrize(
    ("query", "shown", "clauses"),
    [
        ("SELECT counter FROM t\nWHERE (counter > 1)", "(counter > 1) (line 3)",
         ("WHERE",)),
        ("SELECT counter % 9 AS k FROM t GROUP BY k\nHAVING count(*) IN (7, 8)",
         "count(*) IN (7, 8) (line 3)", ("HAVING",)),
        ("SELECT counter % 9 AS k FROM t GROUP BY k\n"
         "HAVING array_length(array_agg(counter)) > 5",
         "array_length(array_agg(counter)) > 5 (line 3)", ("HAVING",)),
        ("SELECT k FROM (SELECT counter % 9 AS k, count(*) AS n FROM t GROUP BY k)\n"
         "WHERE n > 7.5", "n > 7.5 (line 3)", ("WHERE",)),
        ("SELECT a.counter FROM t a JOIN t b ON a.counter = b.counter\n"
         "AND a.counter > 5", "a.counter > 5 (line 3)", ("JOIN",)),
    ],
)  # fmt: skip
def test_the_clause_of_a_condition_is_known(
    query: str, shown: str, clauses: tuple[str, ...]
) -> None:
    plan = plan_script(f"{TICKS}{query}", Catalog())
    facts = query_facts(plan.sinks[0], plan.source)
    assert [str(condition) for condition in facts.conditions] == [shown]
    assert facts.clauses == clauses


def test_a_join_is_shown_without_the_casts_of_binding() -> None:
    sql = "SELECT a.counter FROM t a JOIN t b ON a.counter::text = b.subtask_index"
    plan = plan_script(f"{TICKS}{sql}", Catalog())
    facts = query_facts(plan.sinks[0], plan.source)
    assert facts.joins == ("a.counter::text = b.subtask_index",)


SHORT = "the watermark 2026-11-27 11:59:48 has 12 s to go"
SILENT = replace(WINDOWED, watermark=at(11, 59, 48))


@pytest.mark.parametrize("view", [None, "table", "windows", "watermark"])
def test_a_silent_run_is_examined_unasked_in_every_view(view: str | None) -> None:
    assert SHORT in unescape(frame(SILENT, view=view))
    bundle = static_html.bundle(SILENT, view=view)
    assert SHORT in unescape(bundle["text/html"])
    assert f"{SHORT}. An event of 2026-11-27 13:00:00" in bundle["text/plain"]


def test_a_run_is_examined_after_five_seconds_without_a_row() -> None:
    windows = {"view": "watermark"}
    after = (
        unescape(frame(replace(SILENT, silent_s=s), **windows)) for s in (5.0, 4.9)
    )
    assert [SHORT in text for text in after] == [True, False]


def test_what_was_found_goes_when_rows_come(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(snapshot: Snapshot) -> tuple[Finding, ...]:
        raise AssertionError("a run that gives rows was examined")

    for name in ("doctor", "no_rows"):
        monkeypatch.setattr(f"arroyo_nb.views.{name}.quick_findings", refuse)
    gave = replace(SILENT, rows_out=1, rows_kept=1, rows=((1,),), columns=("n",))
    assert SHORT not in unescape(frame(gave))
    static_html.bundle(gave)
    with pytest.raises(AssertionError, match="was examined"):
        frame(SILENT)


def test_a_silent_run_draws_the_same_frame_while_nothing_changes() -> None:
    assert frame(SILENT) == frame(replace(SILENT, silent_s=900.0, elapsed_s=901.0))


def test_a_report_is_text_and_escaped_html() -> None:
    payload = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
    found = Report(payload, 2, 0, (Finding("x", f"'{payload}' is", payload),), payload)
    bundle = report(found)
    assert "<img" not in bundle["text/html"]
    assert "&lt;img" in bundle["text/html"]
    for text in (bundle["text/plain"], str(found), repr(found)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert bundle["text/plain"].splitlines()[0].endswith("2 rows in, 0 rows out")


def test_a_report_without_a_finding_says_so() -> None:
    bundle = report(Report("q", 3, 3))
    assert bundle["text/plain"] == (
        "q: 3 rows in, 3 rows out\nnothing is wrong, as far as the run knows"
    )
    assert "nothing is wrong" in bundle["text/html"]


def test_outputs_of_one_table_are_told_apart() -> None:
    outputs = (OutputProgress("few", 0), OutputProgress("none", 0))
    found = diagnose(Examination(replace(PLAIN, outputs=outputs)))
    assert "other-outputs" not in [finding.code for finding in found.findings]


def test_the_doctor_loads_no_spark() -> None:
    script = (
        "import sys, arroyo_nb.doctor.examine, arroyo_nb.views.doctor\n"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


DELAYED = next(s for s in SITUATIONS if s.code == "delay").snapshot


@pytest.mark.parametrize(
    "early",
    [
        {"elapsed_s": 3.0},
        {"stepping": True},
        {"rows_per_s": 12.0},
        {"sources": (replace(DELAYED.sources[0], unread=True),)},
        {"sources": (replace(DELAYED.sources[0], due_s=2.0),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_shorter_delay_is_no_advice_while_rows_are_still_to_come(early) -> None:
    assert "shorter delay" in str(diagnose(Examination(DELAYED)))
    found = diagnose(Examination(replace(DELAYED, **early)))
    assert "shorter delay" not in str(found)
