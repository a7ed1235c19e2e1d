"""Made-up runs that give no row, or odd ones: what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from arroyo_nb.doctor.examination import (
    NOT_PROBED,
    ConditionCount,
    Examination,
    FilterCount,
    KeyMatch,
    ListCount,
    LookupCount,
    Probed,
    SideSample,
    TimeSpread,
)
from arroyo_nb.run.observe.query_facts import Condition, QueryFacts
from arroyo_nb.run.observe.snapshot import (
    LateShare,
    MarkPoint,
    OutputProgress,
    PartitionProgress,
    RunState,
    Snapshot,
    SourceProgress,
    WindowBar,
    WindowState,
)

OPEN, CLOSED = WindowState.OPEN, WindowState.CLOSED
END = datetime(9998, 12, 31, 23)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 11, 27, hour, minute, second)


NOW = at(12, 22)
CLICKS = SourceProgress("clicks", 1815, at(12, 21), HOUR, bounded=False)
BUYS = replace(CLICKS, name="buys", rows=40)
PARTITION = PartitionProgress(0, 0, 0)
TOPIC = replace(CLICKS, rows=0, max_event_time=None, partitions=(PARTITION,))
FEED = replace(CLICKS, rows=0, max_event_time=None, is_feed=True)


def late_in(*partitions: tuple[int, int, int]) -> SourceProgress:
    """A topic whose partitions have so many rows in windows, and so many late ones."""
    shares = [LateShare(*partition) for partition in partitions]
    return replace(CLICKS, late_shares=tuple(shares))


PLAIN = Snapshot(
    "q",
    RunState.RUNNING,
    handle="q",
    rows_in=1815,
    batch_id=9,
    max_event_time=at(12, 21),
    sources=(CLICKS,),
    can_pause=True,
    elapsed_s=60.0,
    silent_s=6.0,
    output_counts=(OutputProgress("preview", 0),),
)
"""A query without windows, which has given no row."""

WINDOWED = replace(
    PLAIN,
    windowed=True,
    window_text="tumble 1 h",
    watermark=at(11, 21),
    windows=(
        WindowBar(at(11), at(12), 1700, 0, OPEN),
        WindowBar(at(12), at(13), 115, 0, OPEN),
    ),
)
"""One with windows of an hour, of which none has closed."""

GAVE = replace(
    PLAIN,
    rows_out=1815,
    rows_kept=1815,
    silent_s=0.0,
    output_counts=(OutputProgress("preview", 1815),),
)

NO_INPUT = replace(PLAIN, rows_in=0, silent_s=0.0, max_event_time=None)

WHERE = Condition("status = 'OK'", 3)
NONE_PASSED = ConditionCount(WHERE, 0, 0, "status", ("'late'", "'ok'"), "'ok'")
SIDE = SideSample("'clicks'", 1815, 1815, ("'ann'", "'bob'"))
MATCH = KeyMatch("user = who", 4, SIDE, replace(SIDE, name="'buys'"), 2)
JOINED = replace(PLAIN, sources=(CLICKS, BUYS), facts=QueryFacts(joins=("user = who",)))


CLOSED_WINDOWS = replace(
    WINDOWED,
    state=RunState.FINISHED,
    watermark=END,
    windows=tuple(replace(w, state=CLOSED) for w in WINDOWED.windows),
)
SUM = Condition("sum(n) > 6", 2, "HAVING")
SUM_MET = ConditionCount(SUM, 1)


def probed(**counts: Any) -> Probed:
    return Probed(**counts, looked_at="counted in rows that were read again")


def jumps(*times: datetime) -> tuple[MarkPoint, ...]:
    return tuple(
        MarkPoint(n, float(n), time, time - HOUR) for n, time in enumerate(times)
    )


@dataclass(frozen=True)
class Situation:
    """What is known of a run; the finding that must come first, with words of its
    message and of its hint."""

    name: str
    code: str
    message: str
    hint: str
    snapshot: Snapshot
    probed: Probed = NOT_PROBED
    now: datetime | None = NOW

    @property
    def examination(self) -> Examination:
        return Examination(self.snapshot, lambda: self.probed, self.now)


SITUATIONS = (
    Situation(
        "the engine starts",
        "starting",
        "'q' has not started: waiting for the engine: Spark starts, 3 s",
        "wait: Spark starts once",
        replace(
            NO_INPUT,
            state=RunState.STARTING,
            note="waiting for the engine: Spark starts, 3 s",
        ),
    ),
    Situation(
        "failed",
        "failed",
        "'q' failed: expected BIGINT for 'delay'",
        "write bad_data = 'drop'",
        replace(
            PLAIN,
            state=RunState.FAILED,
            error="expected BIGINT for 'delay'\n  hint: write bad_data = 'drop'",
        ),
    ),
    Situation(
        "paused by its user",
        "paused",
        "'q' is paused: Pause was pressed in its panel, or run.pause() was called",
        "q.resume()",
        replace(WINDOWED, paused=True),
    ),
    Situation(
        "step by step",
        "paused",
        "'q' waits for you: it was started with --step (step=True)",
        "press Step for one micro-batch, or Resume to go on (q.step(), q.resume())",
        replace(NO_INPUT, paused=True, stepping=True),
    ),
    Situation(
        "played slowly",
        "slow-speed",
        "the next rows of 'clicks' are due in about 40 s",
        "%arroyo speed q max",
        replace(PLAIN, sources=(replace(CLICKS, due_s=42.3),)),
    ),
    Situation(
        "stopped before the first row",
        "stopped",
        "'q' ended before it gave a row: stopped by %arroyo stop",
        "%arroyo resume q",
        replace(PLAIN, state=RunState.STOPPED, note="stopped by %arroyo stop"),
        probed(),
    ),
    Situation(
        "the broker is away",
        "unreached",
        "no broker answers for 'clicks' since 2 min 5 s",
        "start the server, or correct its address",
        replace(NO_INPUT, sources=(replace(TOPIC, away_s=125.4),)),
    ),
    Situation(
        "a feed is not connected",
        "unreached",
        "there is no connection for 'clicks' since 12 s: connection refused",
        "start the server",
        replace(
            NO_INPUT,
            sources=(replace(FEED, away_s=12.9, away_why="connection refused"),),
        ),
    ),
    Situation(
        "the first micro-batch",
        "first-batch",
        "Spark prepares the first micro-batch, which takes longer than those that "
        "follow. 2,005 records wait to be read",
        "wait",
        replace(
            NO_INPUT,
            sources=(replace(TOPIC, partitions=(PartitionProgress(0, 0, 2005),)),),
        ),
    ),
    Situation(
        "an empty topic",
        "no-input",
        "no record has come from 'clicks': its topic is empty",
        "send a record to the topic",
        replace(NO_INPUT, sources=(TOPIC,)),
    ),
    Situation(
        "a topic that is read from its newest record on",
        "no-input",
        "A topic is read from its newest record on unless 'source.offset' = 'earliest'",
        "write 'source.offset' = 'earliest' in its WITH",
        replace(
            NO_INPUT,
            sources=(
                replace(
                    TOPIC,
                    partitions=(PartitionProgress(0, 70, 70, idle=True),),
                    older_records="'source.offset' = 'earliest'",
                ),
            ),
        ),
    ),
    Situation(
        "an empty file",
        "no-input",
        "no record has come from 'clicks': it has ended without one",
        "%arroyo head clicks",
        replace(
            NO_INPUT,
            state=RunState.FINISHED,
            sources=(replace(CLICKS, rows=0, bounded=True, ended=True),),
        ),
    ),
    Situation(
        "a slow generator",
        "no-input",
        "no record has come from 'clicks'",
        "look at its options: a path, a rate",
        replace(NO_INPUT, sources=(replace(CLICKS, rows=0),)),
    ),
    Situation(
        "a feed without messages",
        "no-input",
        "no record has come from 'clicks', which is connected",
        "wait for the first message",
        replace(NO_INPUT, sources=(FEED,)),
    ),
    Situation(
        "bad data only, on a tape",
        "bad-data",
        "3 records could not be read and none could: those of 'clicks' are bad data; "
        "the first: line 1: expected a number",
        "compare the columns of CREATE TABLE",
        replace(
            NO_INPUT,
            sources=(
                replace(
                    CLICKS,
                    rows=0,
                    dropped_rows=3,
                    bad=("line 1: expected a number", "line 2: not json"),
                ),
            ),
        ),
    ),
    Situation(
        "bad data only, in a topic, whose records Spark has read",
        "bad-data",
        "70 records could not be read and none could",
        "compare the columns of CREATE TABLE",
        replace(
            PLAIN,
            rows_in=70,
            sources=(replace(TOPIC, rows=70, dropped_rows=70, bad=("offset 0: x",)),),
        ),
    ),
    Situation(
        "no row has an event time",
        "event-time",
        "the event time of all 1,815 rows of 'clicks' cannot be used (NULL, or where "
        "no window can be)",
        "name a column in WATERMARK FOR that has a time in each row",
        replace(
            WINDOWED,
            windows=(),
            watermark=None,
            sources=(
                replace(
                    CLICKS,
                    dropped_rows=1815,
                    bad=('{"id": 1}: its event time cannot be used',),
                ),
            ),
        ),
    ),
    Situation(
        "a misspelt column",
        "column",
        "'clicks': no record of 1,815 had 'usr'; did you mean 'user'?",
        "write user in CREATE TABLE, in the same case",
        replace(
            PLAIN,
            sources=(
                replace(
                    CLICKS,
                    notes=("no record of 1,815 had 'usr'; did you mean 'user'?",),
                ),
            ),
        ),
        probed(filters=(FilterCount(1815, 0, (NONE_PASSED,)),)),
    ),
    Situation(
        "times in another unit",
        "column",
        "'clicks': all times of 'ts' lie in January 1970: milliseconds?",
        "declare it BIGINT and write `to_timestamp_millis(ts)`",
        replace(
            WINDOWED,
            sources=(
                replace(
                    CLICKS,
                    notes=(
                        "all times of 'ts' lie in January 1970: milliseconds? declare "
                        "it BIGINT and write `to_timestamp_millis(ts)`",
                    ),
                ),
            ),
        ),
    ),
    Situation(
        "one condition keeps none",
        "filtered",
        "the condition status = 'OK' (line 3) in WHERE kept none of the 1,815 rows "
        "that came to it: status is 'late', 'ok'",
        "did you mean 'ok'?",
        PLAIN,
        probed(
            filters=(
                FilterCount(
                    1815, 0, (ConditionCount(Condition("n > 0"), 1815), NONE_PASSED)
                ),
            )
        ),
    ),
    Situation(
        "a condition on a column that is NULL",
        "filtered",
        "that came to it: it is NULL in all of them",
        "compare a column that has values",
        PLAIN,
        probed(filters=(FilterCount(1815, 0, (ConditionCount(WHERE, 0, 1815),)),)),
    ),
    Situation(
        "conditions that are never true together",
        "filtered",
        "1,815 rows came in WHERE, and none meets all of a = 1 AND b = 2 at once; each "
        "alone is true of some (a = 1: 7; b = 2: 9)",
        "take one of the conditions out",
        PLAIN,
        probed(
            filters=(
                FilterCount(
                    1815,
                    0,
                    (
                        ConditionCount(Condition("a = 1"), 7),
                        ConditionCount(Condition("b = 2"), 9),
                    ),
                ),
            )
        ),
    ),
    Situation(
        "a number is compared as text",
        "filtered",
        "the condition ts > '2024-01-01' (line 2) in WHERE kept none",
        "write to_timestamp_millis(ts)",
        replace(
            PLAIN,
            hints=("the number ts is compared as text: write to_timestamp_millis(ts)",),
        ),
        probed(
            filters=(
                FilterCount(
                    1815,
                    0,
                    (
                        ConditionCount(
                            *(Condition("ts > '2024-01-01'", 2), 0, 0, "ts"),
                            values=("1700000000000",),
                        ),
                    ),
                ),
            )
        ),
    ),
    Situation(
        "WHERE false",
        "never-true",
        "the condition false (line 2) is true of no row",
        "remove the condition",
        replace(PLAIN, facts=QueryFacts(never_true=(Condition("false", 2),))),
    ),
    Situation(
        "a comparison with NULL",
        "never-true",
        "the condition n = NULL is true of no row",
        "write n IS NULL",
        replace(
            PLAIN,
            facts=QueryFacts(never_true=(Condition("n = NULL"),)),
            hints=("a comparison with NULL is never true: write n IS NULL",),
        ),
        probed(filters=(FilterCount(1815, 0, (NONE_PASSED,)),)),
    ),
    Situation(
        "LIMIT 0",
        "limit",
        "the query ends with LIMIT 0",
        "remove the LIMIT",
        replace(NO_INPUT, state=RunState.FINISHED, facts=QueryFacts(limit=0)),
    ),
    Situation(
        "HAVING keeps none",
        "having",
        "the condition count(*) > 50 (line 5) behind the window kept none of the 12 "
        "rows that came to it: count(*) is 1, 2, 3, ...",
        "change the condition",
        replace(
            WINDOWED,
            state=RunState.FINISHED,
            watermark=END,
            windows=tuple(replace(w, state=CLOSED) for w in WINDOWED.windows),
        ),
        probed(
            filters=(
                FilterCount(
                    12,
                    0,
                    (
                        ConditionCount(
                            *(Condition("count(*) > 50", 5), 0, 0, "count(*)"),
                            values=("1", "2", "3", "4"),
                        ),
                    ),
                    "behind the window",
                ),
            )
        ),
    ),
    Situation(
        "only late rows meet HAVING",
        "late-rows",
        "1 row meets the condition sum(n) > 6 (line 2) in HAVING where late rows are "
        "counted, and none without them: 1 row came after its window had closed",
        "a longer delay in WATERMARK FOR keeps more; q.late() lists them",
        replace(CLOSED_WINDOWS, late_rows=1, facts=QueryFacts(conditions=(SUM,))),
        probed(
            filters=(FilterCount(*(3, 1, (SUM_MET,), "in HAVING"), of_windows=True),)
        ),
    ),
    Situation(
        "conditions keep rows, but the run gave none, and some were late",
        "late-rows",
        "2 of 1,815 rows were late, and the others gave no row",
        "a longer delay in WATERMARK FOR keeps more",
        replace(CLOSED_WINDOWS, late_rows=2, facts=QueryFacts(conditions=(WHERE,))),
        probed(filters=(FilterCount(1815, 7, (ConditionCount(WHERE, 7),)),)),
    ),
    Situation(
        "a comparison with NULL beside another condition",
        "filtered",
        "the condition a = NULL OR b IN (1, 2) (line 2) in WHERE kept none of the "
        "1,815 rows that came to it: it is NULL in all of them, as a comparison with "
        "NULL always is",
        "write t.a IS NULL",
        replace(
            PLAIN,
            hints=("a comparison with NULL is never true: write t.a IS NULL",),
        ),
        probed(
            filters=(
                FilterCount(
                    1815,
                    0,
                    (ConditionCount(Condition("a = NULL OR b IN (1, 2)", 2), 0, 1815),),
                ),
            )
        ),
    ),
    Situation(
        "nobody has counted the groups of a HAVING",
        "filtered",
        "1,815 rows came in, and a HAVING kept none of their groups",
        "%arroyo doctor q counts",
        replace(PLAIN, facts=QueryFacts(conditions=(SUM,))),
    ),
    Situation(
        "nobody has counted the windows of a HAVING",
        "having",
        "2 windows closed, and a HAVING behind the window kept none of their rows",
        "%arroyo doctor q counts",
        replace(CLOSED_WINDOWS, facts=QueryFacts(conditions=(SUM,))),
    ),
    Situation(
        "lists without elements",
        "unnest",
        "the list tags has no element in any of the 1,815 rows",
        "unnest a list that has elements",
        PLAIN,
        probed(lists=(ListCount("tags", 1815, 0),)),
    ),
    Situation(
        "nobody has counted which condition it is",
        "filtered",
        "1,815 rows came in, and a WHERE before the window kept none of them",
        "%arroyo doctor q counts",
        replace(WINDOWED, windows=(), facts=QueryFacts(conditions=(WHERE,))),
    ),
    Situation(
        "the keys of both sides never meet",
        "keys-never-meet",
        "the keys of the JOIN ON user = who (line 4) never meet: 'clicks' has 'ann', "
        "'bob', 'buys' has 'Ann', 'Bob'",
        "make the keys equal: their type, case, blanks and prefix",
        JOINED,
        probed(
            matches=(
                replace(
                    MATCH,
                    shared=0,
                    right=SideSample("'buys'", 40, 40, ("'Ann'", "'Bob'")),
                ),
            )
        ),
    ),
    Situation(
        "the key of one side is NULL",
        "null-keys",
        "the key of 'buys' in the JOIN ON user = who (line 4) is NULL in all 40 rows",
        "join by a column that has values",
        JOINED,
        probed(
            matches=(replace(MATCH, shared=0, right=SideSample("'buys'", 40, 0)),),
        ),
    ),
    Situation(
        "one side of a join has no row",
        "empty-side",
        "the side 'buys' of the JOIN ON user = who (line 4) has no row, and 'clicks' "
        "has 1,815 rows",
        "see why 'buys' is empty",
        JOINED,
        probed(matches=(replace(MATCH, shared=0, right=SideSample("'buys'", 0, 0)),)),
    ),
    Situation(
        "one source of a join is silent",
        "empty-side",
        "no record has come from 'buys', and the JOIN ON user = who needs rows of both",
        "LEFT JOIN",
        replace(JOINED, sources=(CLICKS, replace(BUYS, rows=0))),
    ),
    Situation(
        "the interval of a join is never met",
        "join-condition",
        "keys of both sides meet in 3 pairs, and none of them meets b.at > c.at",
        "widen the condition",
        JOINED,
        probed(
            matches=(MATCH,),
            filters=(
                FilterCount(
                    3, 0, (ConditionCount(Condition("b.at > c.at"), 0),), "in the JOIN"
                ),
            ),
        ),
    ),
    Situation(
        "both sides have other windows",
        "windows-never-meet",
        "both sides of the JOIN ON user = who (line 4) have rows, and never in the "
        "same window",
        "compare the event times of both sides",
        replace(JOINED, windowed=True, watermark=END, state=RunState.FINISHED),
        probed(matches=(replace(MATCH, windowed=True),)),
    ),
    Situation(
        "the same key is never in the same window",
        "windows-never-meet",
        "both sides of the JOIN ON user = who (line 4) have the same keys and the same "
        "windows, and never the same key in the same window",
        "take wider windows",
        replace(JOINED, windowed=True, watermark=END, state=RunState.FINISHED),
        probed(matches=(replace(MATCH, windowed=True, same_windows=5),)),
    ),
    Situation(
        "ON compares the start of one window with the end of the other",
        "windows-never-meet",
        "the JOIN ON user = who (line 4) compares two different windows, and a JOIN of "
        "windows only joins rows of the same window",
        "compare the windows themselves, as in ON a.w = b.w",
        replace(JOINED, windowed=True, watermark=END, state=RunState.FINISHED),
        probed(
            matches=(
                replace(
                    MATCH,
                    shared=0,
                    windowed=True,
                    same_windows=5,
                    other_window=True,
                ),
            )
        ),
    ),
    Situation(
        "no lookup finds its key",
        "lookup",
        "none of 1,815 rows found its key in the lookup table 'people', such as 'x'",
        "%arroyo head people",
        PLAIN,
        probed(lookups=(LookupCount("people", 1815, 0, True, ("'x'",)),)),
    ),
    Situation(
        "no lookup finds its key, and rows stay all the same",
        "lookup",
        "none of 1,815 rows found its key in the lookup table 'people'",
        "%arroyo head people",
        replace(GAVE, facts=QueryFacts(lookups=("people",))),
        probed(lookups=(LookupCount("people", 1815, 0, False),)),
    ),
    Situation(
        "an event of the future took the watermark with it",
        "future",
        "the watermark ran ahead: a row of 'clicks' has the event time 2027-11-27 "
        "12:00:00, 364 d 23 h 59 min after the other rows and 364 d 23 h 38 min in the "
        "future; 700 rows that came after it were late",
        "correct that event time where the row is made",
        replace(
            WINDOWED,
            late_rows=700,
            max_event_time=datetime(2027, 11, 27, 12),
            watermark=datetime(2027, 11, 27, 11),
            windows=(WindowBar(at(11), at(12), 5, 700, CLOSED),),
            history=jumps(at(12), at(12, 1), datetime(2027, 11, 27, 12)),
        ),
    ),
    Situation(
        "an event far ahead of the others, in the past",
        "jump",
        "a row of 'clicks' has the event time 2026-11-27 12:21:00, 9 h 21 min after "
        "the other rows; 1,814 rows",
        "correct that event time",
        replace(
            WINDOWED,
            late_rows=1814,
            windows=(WindowBar(at(2, 59), at(3), 0, 1814, CLOSED),),
        ),
    ),
    Situation(
        "an event far ahead, found in the rows",
        "jump",
        "the event time 2026-11-27 12:21:00, 9 h 16 min after the other rows",
        "correct that event time",
        replace(
            WINDOWED,
            late_rows=1800,
            windows=(WindowBar(at(3), at(4), 0, 1800, CLOSED),),
        ),
        probed(
            times=(TimeSpread("clicks", 1815, 0, at(3), at(3, 5), at(12, 21)),),
        ),
    ),
    Situation(
        "every row is late",
        "all-late",
        "all 1,815 rows came after their windows had closed; the delay is 1 h",
        "a longer delay in WATERMARK FOR keeps them",
        replace(
            WINDOWED,
            late_rows=1815,
            windows=(
                WindowBar(at(9), at(10), 0, 900, CLOSED),
                WindowBar(at(10), at(11), 0, 915, CLOSED),
            ),
        ),
    ),
    Situation(
        "there is no watermark yet",
        "no-watermark",
        "there is no watermark yet: it comes with the batch after the first rows",
        "wait for the next rows",
        replace(WINDOWED, watermark=None),
    ),
    Situation(
        "one source has given nothing, so there is no watermark",
        "no-watermark",
        "it is the least of all sources, and no row has come from 'buys'",
        "send a row there",
        replace(
            WINDOWED,
            watermark=None,
            sources=(CLICKS, replace(BUYS, rows=0, max_event_time=None)),
        ),
    ),
    Situation(
        "an idle source holds the watermark",
        "held-back",
        "the watermark 2026-11-27 08:00:00 is held back by 'buys': it is the least of "
        "all sources, and 'buys' has its newest event at 2026-11-27 09:00:00, 4 h 30 "
        "min behind the others; the first window ends at 2026-11-27 12:00:00",
        "an event of 2026-11-27 13:00:00 or later in 'buys' closes it",
        replace(
            WINDOWED,
            watermark=at(8),
            sources=(
                replace(CLICKS, max_event_time=at(13, 30)),
                replace(BUYS, max_event_time=at(9)),
            ),
        ),
    ),
    Situation(
        "a slow topic holds the watermark, as the rows say",
        "held-back",
        "held back by 'buys'",
        "or later in 'buys' closes it",
        replace(
            WINDOWED,
            watermark=at(10, 30),
            sources=(
                replace(TOPIC, rows=1815),
                replace(TOPIC, rows=40, name="buys"),
            ),
        ),
        probed(
            times=(
                TimeSpread("clicks", 1815, 0, at(11), at(13), at(13, 5)),
                TimeSpread("buys", 40, 0, at(11), at(11, 20), at(11, 30)),
            )
        ),
    ),
    Situation(
        "the watermark is short of the first window's end",
        "watermark-short",
        "the first window ends at 2026-11-27 12:00:00, and the watermark 2026-11-27 "
        "11:59:48 has 12 s to go",
        "an event of 2026-11-27 13:00:00 or later in 'clicks' moves it there",
        replace(WINDOWED, watermark=at(11, 59, 48)),
    ),
    Situation(
        "the delay is longer than the data",
        "delay",
        "the delay of 'clicks' is 1 h, and its rows span 12 min: the watermark",
        "WATERMARK FOR ... - INTERVAL '1 minute'",
        replace(
            WINDOWED,
            max_event_time=at(11, 12),
            watermark=at(10, 12),
            sources=(replace(CLICKS, max_event_time=at(11, 12)),),
            windows=(WindowBar(at(11), at(12), 1815, 0, OPEN),),
        ),
    ),
    Situation(
        "the gap of a session has not passed",
        "session-gap",
        "13 sessions are open: a session gives its row one gap (30 min) after its last "
        "row",
        "an event of 2026-11-27 13:51:00 or later closes the first one",
        replace(
            WINDOWED,
            sessions=True,
            window_text="session 30 min",
            open_sessions=13,
            facts=QueryFacts(gap=timedelta(minutes=30)),
            density=(WindowBar(at(12), at(12, 4), 1815, 0, OPEN),),
        ),
    ),
    Situation(
        "the sample ended with windows open",
        "open-windows",
        "'q' has read to the end with 2 windows open, at watermark 2026-11-27 11:21:00",
        "a record of 2026-11-27 14:00:00 or later closes all",
        replace(WINDOWED, state=RunState.FINISHED, note="the sources have ended"),
    ),
    Situation(
        "stopped with a window open",
        "open-windows",
        "'q' was stopped with 1 window open",
        "%arroyo resume q",
        replace(WINDOWED, state=RunState.STOPPED, windows=WINDOWED.windows[:1]),
    ),
    Situation(
        "the rows go to a table and are not kept",
        "not-kept",
        "1,815 rows went to 'out', and none are kept to be shown here",
        "run it with keep=True",
        replace(GAVE, rows_kept=0, output_counts=(OutputProgress("out", 1815),)),
    ),
    Situation(
        "the rows of an INSERT are only shown",
        "not-written",
        "the rows for 'out' are only shown, and not written",
        "run the cell with --sinks",
        replace(GAVE, unwritten=("out",)),
    ),
    Situation(
        "an updating result was taken back",
        "retracted",
        "the result is empty now: 8 changes came out",
        "q.changelog()",
        replace(
            PLAIN,
            updating=True,
            rows_out=8,
            result_rows=0,
            rows_kept=8,
            output_counts=(OutputProgress("preview", 8),),
        ),
    ),
    Situation(
        "another INSERT has the rows",
        "other-outputs",
        "the first output 'few' has no row, and other INSERTs of the script have "
        "(many: 9)",
        "q.table(1)",
        replace(
            PLAIN,
            rows_out=9,
            output_counts=(OutputProgress("few", 0), OutputProgress("many", 9)),
        ),
        probed(),
    ),
    Situation(
        "rows are on their way",
        "on-the-way",
        "1,815 rows came in, and their micro-batch is not over",
        "wait",
        PLAIN,
        probed(),
    ),
    Situation(
        "many rows are late",
        "late-rows",
        "400 of 1,815 rows were late",
        "q.late() lists them",
        replace(GAVE, windowed=True, late_rows=400, watermark=at(11, 21)),
    ),
    Situation(
        "one partition of a topic is behind",
        "late-partition",
        "130 of 150 rows of partition 2 of 'clicks' were late, and 5 of 1,650 rows of "
        "its other partitions",
        "%arroyo whatif q; or look at what writes that partition",
        replace(
            GAVE,
            windowed=True,
            late_rows=135,
            sources=(late_in((0, 900, 5), (1, 750, 0), (2, 150, 130), (3, 0, 0)),),
        ),
    ),
    Situation(
        "two partitions of a topic are behind",
        "late-partition",
        "190 of 300 rows of partitions 0 and 2 of 'clicks' were late, and 1 of 900 "
        "rows of its other partition",
        "look at what writes those partitions",
        replace(
            GAVE,
            windowed=True,
            late_rows=191,
            sources=(late_in((0, 150, 60), (1, 900, 1), (2, 150, 130)),),
        ),
    ),
    Situation(
        "many rows of all partitions are late",
        "late-rows",
        "400 of 1,815 rows were late",
        "q.late() lists them",
        replace(
            GAVE,
            windowed=True,
            late_rows=400,
            sources=(late_in((0, 900, 150), (1, 900, 250)),),
        ),
    ),
    Situation(
        "some records are bad data",
        "some-bad-data",
        "3 records of 'clicks' are bad data and were left out; the first: line 3: x",
        "q.bad()",
        replace(GAVE, sources=(replace(CLICKS, dropped_rows=3, bad=("line 3: x",)),)),
    ),
    Situation(
        "messages of a feed were lost",
        "lost-messages",
        "2 messages of 'clicks' were lost",
        "%arroyo record",
        replace(GAVE, sources=(replace(FEED, rows=1815, lost_messages=2),)),
    ),
)
