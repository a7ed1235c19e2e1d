"""How far each source of a run has come, below its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.run.snapshot import SourceProgress
from arroyo_nb.views.axis import END_OF_TIME
from arroyo_nb.views.words import NAME_CHARS, clock, count, duration, escaped

MOST_SOURCES, MOST_BAD, BAD_CHARS = 12, 5, 200


def listed(sources: Sequence[SourceProgress]) -> str:
    """One line a source: rows, newest event time, delay, bad rows with a sample."""
    if not sources:
        return ""
    made = "".join(_source(source) for source in sources[:MOST_SOURCES])
    more = len(sources) - MOST_SOURCES
    told = f"<div>{count(more, 'more source')}</div>" if more > 0 else ""
    return f'<div class="sources" data-key="sources">{made}{told}</div>'


def _source(source: SourceProgress) -> str:
    if source.looked_up:
        return f"<div>{_named(source, ['looked up'])}</div>"
    parts = [f"{count(source.rows, 'row')} released"]
    if source.max_event_time is not None and source.max_event_time < END_OF_TIME:
        parts.append(f"newest {clock(source.max_event_time)}")
    parts.append(f"delay allowed {_delay(source.delay)}")
    if source.ended:
        parts.append("ended")
    elif source.paused:
        parts.append("paused")
    return f"<div>{_named(source, parts)}</div>"


def _named(source: SourceProgress, parts: list[str]) -> str:
    name = escaped(source.name, NAME_CHARS)
    return f"<b>{name}</b> {' · '.join(parts)}{_dropped(source)}"


def _delay(delay: timedelta) -> str:
    return duration(delay) if delay else "none"


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
