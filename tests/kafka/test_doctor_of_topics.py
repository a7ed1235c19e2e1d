"""Why a run of a topic gives no rows."""

from __future__ import annotations

COLUMNS = (
    """k TEXT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5 seconds'"""
)
W = "tumble(INTERVAL '1 minute')"
COUNTS = f"SELECT {W} AS w, count(*) AS n FROM t GROUP BY w"


def event(second, key="a"):
    return {"k": key, "at": f"2026-01-01T10:00:{second:02}"}


def test_the_windows_that_were_open_at_the_end_of_a_topic(new_topic, session):
    topic = new_topic()
    topic.send(event(1), event(30))
    run = session.run(topic.declared(COLUMNS) + COUNTS, until="end", wait=True)
    assert run.table().num_rows == 0
    answer = run.doctor().answer
    assert answer.code == "open-windows", str(run.doctor())
    assert "has read to the end with 1 window open" in answer.message
    assert "a record of 2026-01-01 10:01:05 or later closes all" in answer.hint


def test_a_topic_that_is_empty_and_one_that_is_read_from_its_end(
    new_topic, session, eventually
):
    empty, full = new_topic(), new_topic()
    full.send(event(1), event(2))
    silent = session.run(empty.declared(COLUMNS) + COUNTS, name="silent")
    latest = full.declared(COLUMNS, source__offset="latest") + COUNTS
    behind = session.run(latest, name="behind")

    def said(run):
        answer = run.doctor().answer
        return f"{answer.code}: {answer.message}. {answer.hint}" if answer else ""

    eventually(lambda: said(silent).startswith("no-input"), every_s=0.2)
    assert "its topic is empty" in said(silent)
    eventually(lambda: "newest record on" in said(behind), every_s=0.2)
    assert "in its WITH, or send a new record" in said(behind)


def test_one_topic_holds_the_watermark_and_conditions_are_counted(
    new_topic, session, eventually
):
    quick, slow = new_topic(), new_topic()
    quick.send(event(1), {"k": "b", "at": "2026-01-01T12:00:00"})
    slow.send(event(2))
    tables = quick.declared(COLUMNS, "t") + slow.declared(COLUMNS, "late")
    both = "(SELECT k, at FROM t UNION ALL SELECT k, at FROM late)"
    run = session.run(tables + COUNTS.replace("FROM t", f"FROM {both}"))
    eventually(lambda: run.snapshot().rows_in == 3)
    eventually(lambda: run.snapshot().watermark is not None)
    answer = run.doctor().answer
    # How far each topic is, only its rows say.
    assert answer.code == "held-back", str(run.doctor())
    assert "is held back by 'late'" in answer.message
    assert "1 h 59 min 58 s behind the others" in answer.message
    assert "an event of 2026-01-01 10:01:05 or later in 'late'" in answer.hint

    filtered = session.run(
        quick.declared(COLUMNS) + "SELECT k FROM t WHERE k = 'A'",
        until="end",
        wait=True,
    )
    answer = filtered.doctor().answer
    assert "k = 'A'" in answer.message
    assert "kept none of the 2 rows that came to it: k is 'a', 'b'" in answer.message
