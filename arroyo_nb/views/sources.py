"""How far each source of a run has come, below its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.run.observe.snapshot import PartitionProgress, SourceProgress
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import NAME_CHARS, clock, count, duration, escaped

MOST_SOURCES, MOST_BAD, BAD_CHARS = 12, 5, 200
NOTE_CHARS = 300
MOST_PARTITIONS = 16
AWAY, UNCONNECTED = "no broker answers", "no connection"


def listed(sources: Sequence[SourceProgress], *, ended: bool = False) -> str:
    """One line a source: rows, newest event time, delay, bad rows with a sample; of a
    topic its partitions, how far they are behind, and which are idle.

    Parameters
    ----------
    ended
        Whether their run has: it waits for nothing then, and is behind nothing.
    """
    if not sources:
        return ""
    made = "".join(_source(source, ended) for source in sources[:MOST_SOURCES])
    more = len(sources) - MOST_SOURCES
    told = f"<div>{count(more, 'more source')}</div>" if more > 0 else ""
    return f'<div class="sources" data-key="sources">{made}{told}</div>'


def _source(source: SourceProgress, ended: bool) -> str:
    if source.looked_up:
        return f"<div>{_named(source, ['looked up'])}</div>"
    of = _of_topic if source.partitions else _of_tape
    parts = of(source, ended)
    if source.max_event_time is not None and source.max_event_time < END_OF_TIME:
        parts.append(f"newest {clock(source.max_event_time)}")
    parts.append(_delay(source.delay))
    if source.ended:
        parts.append("ended")
    elif source.paused and not ended:
        parts.append("paused")
    return f"<div>{_named(source, parts)}</div>"


def _of_tape(source: SourceProgress, ended: bool) -> list[str]:
    feed = connection(source, ended=ended)
    told = (_marked(escaped(words, NOTE_CHARS)) for words in feed)
    return [f"{count(source.rows, 'row')} read", *told]


def connection(source: SourceProgress, *, ended: bool = False) -> list[str]:
    """How a feed is connected, and what of it may be missing, in plain words.

    >>> status = {"away_s": 12.3, "gaps": 3, "lost_messages": 1234}
    >>> connection(SourceProgress("q", 8, None, timedelta(), False, **status))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['no connection for 12 s', 'reconnected 3 times, messages may be missing',
     '1,234 messages lost: they came faster than they were read']
    """
    parts = []
    if source.away_s >= 1 and not ended:
        length = duration(timedelta(seconds=int(source.away_s)))
        why = f": {source.away_why}" if source.away_why else ""
        parts.append(f"{UNCONNECTED} for {length}{why}")
    if source.gaps:
        times = count(source.gaps, "time")
        parts.append(f"reconnected {times}, messages may be missing")
    if source.lost_messages:
        lost = f"{count(source.lost_messages, 'message')} lost"
        parts.append(f"{lost}: they came faster than they were read")
    return parts


def _of_topic(source: SourceProgress, ended: bool) -> list[str]:
    read = [f"{count(source.rows, 'row')} read"]
    if ended:
        return [*read, unread(source)]
    rate = f"{count(round(source.rows_per_s), 'row')}/s"
    return [*read, rate, *map(_marked, behind(source))]


def _marked(words: str) -> str:
    is_bad = words.startswith((AWAY, UNCONNECTED)) or " lost: " in words
    return f'<span class="bad">{words}</span>' if is_bad else words


def behind(source: SourceProgress) -> list[str]:
    """How far a topic's reader is behind, in plain words.

    >>> from arroyo_nb.run.observe.snapshot import PartitionProgress as P
    >>> parts = (P(0, 5, 7), P(1, 3, 3, idle=True))
    >>> behind(SourceProgress("q", 8, None, timedelta(), False, partitions=parts))
    ['2 partitions, 2 records behind (partition 0: 2)', 'partition 1 is idle']
    """
    partitions = source.partitions
    parts = [_lag(partitions, source.lag)]
    idle = [partition.number for partition in partitions if partition.idle]
    if idle:
        noun, are = ("partition", "is") if len(idle) == 1 else ("partitions", "are")
        parts.append(f"{noun} {_numbers(idle)} {are} idle")
    if source.away_s >= 1:
        length = duration(timedelta(seconds=int(source.away_s)))
        parts.append(f"{AWAY} for {length}")
    return parts


def unread(source: SourceProgress) -> str:
    """What a run that has ended has left of a topic, in plain words.

    >>> from arroyo_nb.run.observe.snapshot import PartitionProgress as P
    >>> parts = (P(0, 5, 7), P(1, 3, 3, idle=True))
    >>> unread(SourceProgress("q", 8, None, timedelta(), False, partitions=parts))
    '2 partitions, 2 records not read (partition 0: 2)'
    """
    if source.lag:
        return _lag(source.partitions, source.lag, "not read")
    # Without an end of its own, nobody knows what has come since it was looked.
    to_end = ", read to the end" if source.bounded else ""
    return f"{count(len(source.partitions), 'partition')}{to_end}"


def _lag(
    partitions: Sequence[PartitionProgress], lag: int, what: str = "behind"
) -> str:
    """How many there are, and how far they are behind; each, where some are."""
    told = f"{count(len(partitions), 'partition')}, {count(lag, 'record')} {what}"
    late = [partition for partition in partitions if partition.lag]
    if len(partitions) == 1 or not late:
        return told
    each = ", ".join(f"{p.number}: {p.lag:,}" for p in late[:MOST_PARTITIONS])
    noun = "partition" if len(late) == 1 else "partitions"
    return f"{told} ({noun} {each}{', …' if len(late) > MOST_PARTITIONS else ''})"


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_PARTITIONS]))
    return f"{shown}{', …' if len(numbers) > MOST_PARTITIONS else ''}"


def _named(source: SourceProgress, parts: list[str]) -> str:
    name = escaped(source.name, NAME_CHARS)
    notes = "".join(
        f'<p class="bad">{escaped(note, NOTE_CHARS)}</p>' for note in source.notes
    )
    return f"<b>{name}</b> {' · '.join(parts)}{_dropped(source)}{notes}"


def _delay(delay: timedelta | None) -> str:
    if delay is None:
        return "watermark by its own expression"
    return f"delay allowed {duration(delay) if delay else 'none'}"


def _dropped(source: SourceProgress) -> str:
    if not source.dropped_rows:
        return ""
    told = f"{count(source.dropped_rows, 'bad row')} dropped"
    if not source.bad:
        return f' · <span class="bad">{told}</span>'
    sample = "".join(f"<li>{escaped(b, BAD_CHARS)}</li>" for b in source.bad[:MOST_BAD])
    key = escaped(source.name, NAME_CHARS)
    return (
        f'<details data-key="bad-{key}"><summary class="bad">{told}</summary>'
        f"<ul>{sample}</ul></details>"
    )
