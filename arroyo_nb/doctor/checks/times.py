"""Checks of event time: the watermark, who holds it, late rows, open windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from arroyo_nb.doctor.examination import Examination
from arroyo_nb.doctor.words import instant, interval, length, names, rows
from arroyo_nb.run.observe.findings import Finding
from arroyo_nb.run.observe.snapshot import (
    LateShare,
    RunState,
    SourceProgress,
    before_end,
)

CLOCK = timedelta(minutes=1)
"""So far clocks may differ: an event further in the future has a wrong time."""

FAR = 10
"""A row that is ahead of the others by so many times what they span is a jump."""

LATE_SHARE = 0.05
"""More late rows than that are told where there are rows."""

FEWER = 2
"""Partitions differ where one has so many times the share of late rows of another."""


def ran_ahead(exam: Examination) -> Finding | None:
    """One event that is far ahead took the watermark with it: the others are late."""
    s, jump = exam.snapshot, _jump(exam)
    if jump is None or not s.late_rows or not s.windowed:
        return None
    before, after = jump
    in_future = exam.now is not None and after > exam.now + CLOCK
    ahead = f"{length(after - before)} after the other rows"
    if in_future and exam.now is not None:
        ahead += f" and {length(after - exam.now)} in the future"
    return Finding(
        "future" if in_future else "jump",
        f"the watermark ran ahead: a row of {names(x.name for x in exam.streams)} has "
        f"the event time {instant(after)}, {ahead}; {rows(s.late_rows)} that came "
        f"after it {'was' if s.late_rows == 1 else 'were'} late",
        "correct that event time where the row is made: the watermark is taken before "
        "any WHERE",
    )


def _jump(exam: Examination) -> tuple[datetime, datetime] | None:
    """About where the other rows are, and the newest event time that is far ahead of
    them."""
    newest = before_end(exam.snapshot.max_event_time)
    if newest is None:
        return None
    found = [
        (spread.most_until, spread.most_until - spread.first)
        for spread in exam.probed.times
        if spread.first and spread.most_until and spread.last == newest
    ]
    seen = [p.max_event_time for p in exam.snapshot.history if p.max_event_time]
    # The newest did not move since: what came after that batch was older.
    before = [time for time in seen if time < newest]
    if before:
        found.append((before[-1], before[-1] - before[0]))
    if exam.snapshot.windows and not exam.filled:
        bars = exam.snapshot.windows
        first, last = min(b.start for b in bars), max(b.end for b in bars)
        found.append((last, last - first))
    least = max((CLOCK, *(2 * delay for delay in _delays(exam))))
    far = ((at, newest) for at, usual in found if newest - at > max(FAR * usual, least))
    return next(far, None)


def _delays(exam: Examination) -> list[timedelta]:
    return [s.delay for s in exam.streams if s.delay is not None]


def all_late(exam: Examination) -> Finding | None:
    """Every row came after its window had closed."""
    s = exam.snapshot
    if not exam.has_rows or not s.windows or exam.filled or s.density:
        return None
    if ran_ahead(exam) is not None:
        return None  # no delay would keep them
    delays = " and ".join(length(delay) for delay in _delays(exam))
    return Finding(
        "all-late",
        f"all {rows(s.late_rows)} came after their windows had closed"
        + (f"; the delay is {delays}" if delays else ""),
        "a longer delay in WATERMARK FOR keeps them",
    )


def late_rows_missing(exam: Examination) -> Finding | None:
    """The run is over, and rows that are missing from its windows were late."""
    s, probed = exam.snapshot, exam.probed
    if not exam.has_rows or not exam.is_over or not s.late_rows:
        return None
    is_counted = probed.looked_at or not s.facts.drops_rows
    if s.facts.limit == 0 or s.facts.never_true or probed.has_cause or not is_counted:
        return None
    if ran_ahead(exam) is not None or all_late(exam) is not None:
        return None  # those say more
    advice = f"a longer delay in WATERMARK FOR keeps more; {s.handle}.late() lists them"
    last = probed.filters[-1] if probed.filters else None
    others = probed.matches or probed.lookups or probed.lists
    if last is None or not last.of_windows or others or not exam.at_end:
        were = "was" if s.late_rows == 1 else "were"
        return Finding(
            "late-rows",
            f"{s.late_rows:,} of {rows(s.rows_in)} {were} late, and the others gave no "
            "row",
            advice,
        )
    noun = "condition" if len(last.conditions) == 1 else "conditions"
    text = " AND ".join(str(count.condition) for count in last.conditions)
    meet = "meets" if last.rows_out == 1 else "meet"
    their = "its window" if s.late_rows == 1 else "their windows"
    return Finding(
        "late-rows",
        f"{rows(last.rows_out)} {meet} the {noun} {text} {last.stands} where late rows "
        f"are counted, and none without them: {rows(s.late_rows)} came after {their} "
        "had closed",
        advice,
    )


def no_watermark(exam: Examination) -> Finding | None:
    """There is no watermark, and a window waits for one."""
    s = exam.snapshot
    if not _waits(exam) or s.watermark is not None:
        return None
    silent = [x for x in exam.streams if not x.rows and not x.ended]
    if silent and len(silent) < len(exam.streams):
        return Finding(
            "no-watermark",
            "there is no watermark yet: it is the least of all sources, and no row "
            f"has come from {names(x.name for x in silent)}",
            "send a row there, or take that source out of the query",
        )
    return Finding(
        "no-watermark",
        "there is no watermark yet: it comes with the batch after the first rows",
        "wait for the next rows: a window gives its rows when the watermark passes its "
        "end",
    )


def held_back(exam: Examination) -> Finding | None:
    """One source holds the watermark, and by the others windows would have closed."""
    mark, end = exam.watermark, exam.first_end
    if not _waits(exam) or mark is None or len(exam.streams) < 2:
        return None
    live = [s for s in exam.streams if not s.ended]
    known = {s.name: m for s in live if (m := exam.mark(s)) is not None}
    unknown = [s for s in live if s.name not in known and not s.rows]
    slowest: SourceProgress | None = None
    if unknown:
        slowest = unknown[0]
    elif known:
        name = min(known, key=lambda n: known[n])
        slowest = next(s for s in live if s.name == name)
    if slowest is None or end is None or mark >= end:
        return None
    others = [known[s.name] for s in live if s is not slowest and s.name in known]
    if any(other < end for other in others):
        return None  # without it the watermark would not be there either
    stands = exam.newest(slowest)
    newest = max(
        (n for s in exam.streams if s is not slowest and (n := exam.newest(s))),
        default=None,
    )
    if not others and stands is not None and (newest is None or newest <= stands):
        return None  # the others have ended before: it goes on alone
    if stands is None:
        where, by = "has given no row", ""
    else:
        where = f"has its newest event at {instant(stands)}"
        by = (
            f", {length(newest - stands)} behind the others"
            if newest is not None and newest > stands
            else ""
        )
    delay = slowest.delay or timedelta()
    return Finding(
        "held-back",
        f"the watermark {instant(mark)} is held back by '{slowest.name}': it is the "
        f"least of all sources, and '{slowest.name}' {where}{by}; the first window "
        f"ends at {instant(end)}",
        f"an event of {instant(end + delay)} or later in '{slowest.name}' closes it; "
        "else take that source out of the query",
    )


def session_goes_on(exam: Examination) -> Finding | None:
    """A gap has not passed since the last row of any session."""
    s = exam.snapshot
    if not _waits(exam) or not s.sessions or s.closed_sessions or exam.closed:
        return None
    newest, gap = exam.snapshot.max_event_time, s.facts.gap
    if newest is None or gap is None or not (exam.filled or s.density):
        return None
    open_ = rows(s.open_sessions, "session") if s.open_sessions else "each session"
    are = "is" if s.open_sessions in (None, 0, 1) else "are"
    delay = max(_delays(exam), default=timedelta())
    first = exam.filled[0].end if exam.filled and not s.density else newest + gap
    return Finding(
        "session-gap",
        f"{open_} {are} open: a session gives its row one gap ({length(gap)}) after "
        "its last row, by the watermark, and rows came before that passed",
        f"an event of {instant(first + delay)} or later closes the first one; or take "
        "a shorter gap",
    )


def delay_beyond_data(exam: Examination) -> Finding | None:
    """The delay is longer than all that the data spans."""
    end, span = exam.first_end, exam.span
    if not _waits(exam) or end is None or span is None or exam.at_end:
        return None
    if held_back(exam) is not None or not _all_rows_are_in(exam):
        return None
    long = next((s for s in exam.streams if s.delay and s.delay > span), None)
    if long is None or long.delay is None or exam.watermark is None:
        return None
    return Finding(
        "delay",
        f"the delay of '{long.name}' is {length(long.delay)}, and its rows span "
        f"{length(span)}: the watermark {instant(exam.watermark)} is before the end of "
        f"the first window, {instant(end)}",
        "declare a shorter delay, as in WATERMARK FOR ... - "
        f"{interval(_shorter(long.delay, span))}",
    )


YOUNG_S = 10.0
"""A run of so few seconds has not shown how long its data is."""


def _all_rows_are_in(exam: Examination) -> bool:
    """Whether no more rows can be expected soon: who steps, or plays a stream at a
    speed, sees a part of it, and only waits for the others."""
    s = exam.snapshot
    if s.stepping or s.paused or s.elapsed_s < YOUNG_S or s.rows_per_s:
        return False
    return not any(source.waiting or source.due_s for source in exam.streams)


def _shorter(delay: timedelta, span: timedelta) -> timedelta:
    choices = (3600, 600, 60, 10, 1)
    fits = (timedelta(seconds=s) for s in choices)
    return next((c for c in fits if c < delay and c <= span / 4), timedelta(seconds=1))


def short_of_end(exam: Examination) -> Finding | None:
    """The watermark has not come to the end of the first window."""
    mark, end = exam.watermark, exam.first_end
    if not _waits(exam) or end is None or mark is None or mark >= end:
        return None
    if held_back(exam) is not None:
        return None  # that says more
    what = "session" if exam.snapshot.sessions else "window"
    return Finding(
        "watermark-short",
        f"the first {what} ends at {instant(end)}, and the watermark {instant(mark)} "
        f"has {length(end - mark)} to go",
        _what_moves_it(exam, end),
    )


def _what_moves_it(exam: Examination, end: datetime) -> str:
    needed = [
        f"of {instant(end + s.delay)} or later in '{s.name}'"
        for s in exam.streams
        if s.delay is not None and not s.ended and not _is_there(exam, s, end)
    ]
    if not needed:
        return "it moves when newer events come"
    one = "an event " + " and one ".join(needed)
    return f"{one} {'moves' if len(needed) == 1 else 'move'} it there"


def _is_there(exam: Examination, source: SourceProgress, end: datetime) -> bool:
    """Whether this source alone would have moved the watermark to the window's end."""
    mark = exam.mark(source)
    return mark is not None and mark >= end


def ended_with_windows(exam: Examination) -> Finding | None:
    """The run has ended, and windows that are open give no row."""
    s = exam.snapshot
    if not exam.is_over or s.state is RunState.FAILED or exam.at_end:
        return None
    left = exam.open_windows
    if not s.windowed or not left or exam.gave_rows:
        return None
    if exam.closed or s.closed_sessions:
        return None  # those gave no row either, and not because they are open
    return _ended(exam, left)


def odd_open_windows(exam: Examination) -> Finding | None:
    """The same, where other windows gave rows."""
    s = exam.snapshot
    left = exam.open_windows
    if not exam.is_over or exam.at_end or not s.windowed or not left:
        return None
    if not exam.gave_rows or s.state is RunState.FAILED:
        return None
    return _ended(exam, left)


def _ended(exam: Examination, left: int) -> Finding:
    s, mark = exam.snapshot, exam.watermark
    noun = "session" if s.sessions else "window"
    how = "was stopped" if s.state is RunState.STOPPED else "has read to the end"
    at = (
        "before the first watermark"
        if mark is None
        else f"at watermark {instant(mark)}"
    )
    hint = f"go on with it: %arroyo resume {s.name}"
    if s.state is RunState.FINISHED:
        ends = max((b.end for b in exam.filled), default=None)
        hint = (
            "run it without an end (no --until end), so that newer records close them"
        )
        if ends is not None and len(_delays(exam)) == 1:
            last = instant(ends + _delays(exam)[0])
            hint = f"a record of {last} or later closes all; or run it without an end"
    return Finding(
        "open-windows",
        f"'{s.name}' {how} with {rows(left, noun)} open, {at}: a {noun} that is open "
        "has no final row",
        hint,
    )


def late_partitions(exam: Examination) -> Finding | None:
    """Rows of some partitions of a topic were late, and far fewer of the others."""
    for source in exam.streams:
        behind = _behind(source)
        if not behind:
            continue
        others = [share for share in _partitions(source) if share not in behind]
        late, rest = _total(behind), _total(others)
        numbers = sorted(s.partition for s in behind if s.partition is not None)
        listed = " and ".join(map(str, numbers))
        were = "was" if late.late_rows == 1 else "were"
        that = "that partition" if len(behind) == 1 else "those partitions"
        return Finding(
            "late-partition",
            f"{late.late_rows:,} of {rows(late.rows)} of {_partition(behind)} "
            f"{listed} of '{source.name}' {were} late, and {rest.late_rows:,} of "
            f"{rows(rest.rows)} of its other {_partition(others)}: records of {that} "
            "come after newer ones of the others, whose event times move the watermark",
            "a longer delay in WATERMARK FOR keeps more: %arroyo whatif "
            f"{exam.snapshot.name}; or look at what writes {that}",
        )
    return None


def _partitions(source: SourceProgress) -> list[LateShare]:
    """The partitions of a topic whose rows came into windows."""
    return [s for s in source.late_shares if s.partition is not None and s.rows]


def _behind(source: SourceProgress) -> list[LateShare]:
    """The partitions with many late rows, where the others have far fewer."""
    ordered = sorted(_partitions(source), key=_share, reverse=True)
    # Where the share falls most from one partition to the next.
    falls = [_share(a) - FEWER * _share(b) for a, b in pairwise(ordered)]
    if not falls or max(falls) < 0:
        return []
    first = ordered[: falls.index(max(falls)) + 1]
    return first if _share(first[-1]) > LATE_SHARE else []


def _partition(shares: Sequence[LateShare]) -> str:
    return "partition" if len(shares) == 1 else "partitions"


def _share(share: LateShare) -> float:
    return share.late_rows / share.rows if share.rows else 0.0


def _total(shares: Sequence[LateShare]) -> LateShare:
    return LateShare(
        None, sum(s.rows for s in shares), sum(s.late_rows for s in shares)
    )


def some_late(exam: Examination) -> Finding | None:
    """Many rows were late."""
    s = exam.snapshot
    if not exam.gave_rows or s.late_rows <= LATE_SHARE * s.rows_in:
        return None
    if late_partitions(exam) is not None:
        return None  # that says more
    return Finding(
        "late-rows",
        f"{s.late_rows:,} of {rows(s.rows_in)} were late: their windows had closed",
        f"a longer delay in WATERMARK FOR keeps more; {s.handle}.late() lists them",
    )


def _waits(exam: Examination) -> bool:
    """Whether rows are in windows of a run that goes on."""
    s = exam.snapshot
    return exam.has_rows and s.windowed and not exam.is_over


CHECKS = (
    ran_ahead,
    all_late,
    no_watermark,
    held_back,
    ended_with_windows,
    session_goes_on,
    delay_beyond_data,
    short_of_end,
)
LATER_CHECKS = (late_rows_missing,)
ODD_CHECKS = (late_partitions, some_late, odd_open_windows)
