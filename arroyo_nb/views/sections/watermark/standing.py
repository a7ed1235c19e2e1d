"""Where each source stands in event time, and which holds the watermark back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from arroyo_nb.run.observe.idle_sources import IdlePeriod
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import clock, count, duration

NAME_CHARS = 40
"""A longer name is cut."""

MOST_SOURCES = 12
"""Sources that are listed."""

MOST_PERIODS = 3
"""So many of the newest times in which a source was idle are told."""

HEADS = ("source", "newest event", "behind the newest", "less its delay", "")


@dataclass(frozen=True)
class Standing:
    """One source: its ``newest`` event time, how far that is ``behind`` the newest of
    all, the ``mark`` that it allows (its newest event less its delay), for how long no
    newer event came (``idle_s``, 0 where it is not idle), and whether it ``holds`` the
    watermark back."""

    name: str
    newest: datetime | None
    behind: timedelta | None
    mark: datetime | None
    idle_s: float = 0.0
    idle_partitions: int = 0
    ended: bool = False
    holds: bool = False


def standings(snapshot: Snapshot) -> tuple[Standing, ...]:
    """The sources that have a time, in their order."""
    seen = dict(snapshot.history[-1].sources) if snapshot.history else {}
    sources = [source for source in snapshot.sources if not source.looked_up]
    newest = {s.name: seen.get(s.name, s.max_event_time) for s in sources}
    last = max((m for m in newest.values() if m is not None), default=None)
    made = []
    for source in sources[:MOST_SOURCES]:
        moment = newest[source.name]
        mark = None
        if moment is not None and source.delay is not None:
            mark = moment - min(source.delay, moment - datetime.min)
        made.append(
            Standing(
                source.name,
                moment,
                last - moment if last and moment else None,
                mark,
                idle_s=0.0 if source.ended else source.idle_s,
                idle_partitions=len(source.idle_partitions),
                ended=source.ended,
            )
        )
    return _with_holder(snapshot, made)


def _with_holder(snapshot: Snapshot, made: list[Standing]) -> tuple[Standing, ...]:
    """The same, with the one that holds the watermark back, of several."""
    over = snapshot.watermark is not None and snapshot.watermark >= END_OF_TIME
    if len(made) < 2 or over or snapshot.state.ended:
        return tuple(made)
    silent = [each for each in made if each.newest is None]
    marked = [each for each in made if each.mark is not None]
    last = silent[0] if silent else None
    if last is None and marked:
        last = min(marked, key=lambda each: each.mark or datetime.max)
        # Of sources that are level none holds the others back.
        if all(each.mark == last.mark for each in marked):
            last = None
    return tuple(each if each is not last else _holder(each) for each in made)


def _holder(each: Standing) -> Standing:
    return Standing(
        *(each.name, each.newest, each.behind, each.mark),
        *(each.idle_s, each.idle_partitions, each.ended),
        holds=True,
    )


def cells(each: Standing) -> tuple[str, ...]:
    """A line of the table: a cell for each of :data:`HEADS`."""
    if each.behind is None:
        behind = ""
    else:
        behind = duration(each.behind) if each.behind else "the newest"
    notes = [
        "◀ holds the watermark back" if each.holds else "",
        f"◌ idle for {duration(timedelta(seconds=each.idle_s))}" if each.idle_s else "",
        f"{count(each.idle_partitions, 'idle partition')}"
        if each.idle_partitions
        else "",
        "■ has ended" if each.ended else "",
    ]
    return (
        _name(each),
        clock(each.newest) if each.newest else "none yet",
        behind,
        clock(each.mark) if each.mark else "",
        ", ".join(filter(None, notes)),
    )


def sentences(snapshot: Snapshot) -> list[str]:
    """What the watermark waits for."""
    known = standings(snapshot)
    said = [_lag(snapshot, known)]
    for each in known:
        if each.holds and each.newest is None:
            said.append(
                f"'{_name(each)}' has had no event yet: there is no watermark before."
            )
        elif each.holds:
            idle = (
                " and it is idle: nothing newer came for "
                f"{duration(timedelta(seconds=each.idle_s))}"
                if each.idle_s
                else ""
            )
            said.append(
                f"'{_name(each)}' holds the watermark back: its newest event is "
                f"{duration(each.behind or timedelta())} behind{idle}."
            )
        elif each.idle_s:
            lasted = duration(timedelta(seconds=each.idle_s))
            said.append(f"'{_name(each)}' is idle: nothing newer came for {lasted}.")
    said += map(_came_back, _past_periods(snapshot))
    return [sentence for sentence in said if sentence]


def _past_periods(snapshot: Snapshot) -> list[IdlePeriod]:
    past = [p for p in snapshot.idle_periods if p.back_batch_id is not None]
    return past[-MOST_PERIODS:]


def _came_back(period: IdlePeriod) -> str:
    name = _shortened(period.source)
    return (
        f"'{name}' was idle from micro-batch {period.batch_id} to "
        f"{period.back_batch_id}, then it came back."
    )


def _lag(snapshot: Snapshot, known: tuple[Standing, ...]) -> str:
    mark, newest = snapshot.watermark, snapshot.max_event_time
    if mark is None or newest is None:
        return "There is no watermark yet."
    if mark >= END_OF_TIME:
        return "The input has ended: the watermark is at the end of time."
    if newest < mark:
        return ""
    said = (
        f"The watermark is {duration(newest - mark)} behind the newest event "
        f"({clock(newest)})"
    )
    delays = {s.delay for s in snapshot.sources if not s.looked_up}
    delay = next(iter(delays)) if len(delays) == 1 else None
    if delay is None or len(known) > 1:
        return f"{said}."
    more = newest - mark - delay
    if more <= timedelta():
        return f"{said}: that is the delay."
    return (
        f"{said}: {duration(delay)} are the delay, {duration(more)} came since, as it "
        "moves between micro-batches."
    )


def _name(each: Standing) -> str:
    return _shortened(each.name)


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
