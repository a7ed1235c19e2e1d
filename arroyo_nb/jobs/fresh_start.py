"""What a start from nothing does to the sinks of a job, and how to begin where the run
before has stopped.

State that fits no more is set aside. The rows that made it are in the sinks already: a
job that reads its sources from the beginning writes their results once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import CONNECTORS, Offsets, holding, is_streamed
from arroyo_nb.plan import Plan
from arroyo_nb.plan.nodes import SessionWindow, Source, WindowAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.progress import LoggedBatch, slower
from arroyo_nb.run.observe.snapshot import before_end, naive
from arroyo_nb.run.sources.reader import SourceOffset, topic_key
from arroyo_nb.state.files import OUTPUTS
from arroyo_nb.with_options import Holds


def fresh_start_notes(plan: Plan, old_state: Path | None) -> tuple[str, ...]:
    """What becomes of the sinks of a plan that starts from nothing, a sentence for each
    source.

    Parameters
    ----------
    old_state
        The folder of the run before, which may be gone or unreadable.
    """
    batches = [] if old_state is None else _newest_batches(old_state)
    places = _read_places(batches)
    sinks = dict.fromkeys(sink.table.name for sink in plan.sinks if sink.table)
    written = " and ".join(f"'{name}'" for name in sinks) or "the output"
    notes = [
        note
        for table in _sources(plan)
        for note in _notes(table, written, _offsets(table, places))
    ]
    return (*notes, *_windows_written(plan, batches))


def _windows_written(
    plan: Plan, batches: Sequence[LoggedBatch | None]
) -> Iterator[str]:
    """How to write none of the windows twice that the old run has closed."""
    for sink, batch in zip(plan.sinks, batches, strict=False):
        windows = [n for n in walk(sink) if isinstance(n, WindowAggregate) and n.assign]
        mark = None if batch is None else before_end(naive(batch.watermark))
        # A session may have grown into another one by then.
        kinds = [type(window.assign) for window in windows]
        if mark is None or len(kinds) != 1 or SessionWindow in kinds:
            continue
        end = f"{windows[0].window_name}.end > TIMESTAMP '{mark:%Y-%m-%d %H:%M:%S.%f}'"
        yield (
            f"'{sink.name}' has the windows that end up to {mark}: to write none of "
            "them twice and the others whole, read the sources from their beginning, "
            f"with HAVING {end}"
        )


def _notes(table: ConnectorTable, written: str, offsets: Offsets) -> Iterator[str]:
    info, options = CONNECTORS.get(table.connector).info, table.spec.options
    if not is_streamed(table.connector):
        yield (
            f"'{table.name}' is read from its beginning again: {written} gets the "
            "results of its earlier rows a second time"
        )
        return
    begin = str(options.get(info.begins_at, info.begins_at_else))
    where = f"'{table.name}' begins anew, with '{info.begins_at}' = '{begin}'"
    if begin == "earliest":
        yield (
            f"{where}: {written} gets the results of records that were read before a "
            "second time"
        )
    elif begin == info.begins_at_else:
        yield f"{where}: records that came since the old run stopped are read by nobody"
    else:
        yield where
    if offsets:
        pairs = ", ".join(f"{number}:{at}" for number, at in sorted(offsets.items()))
        yield (
            f"to begin where the old run stopped, write '{info.start_offsets}' = "
            f"'{pairs}' in the table '{table.name}'; windows and keys that were open "
            "then begin without their earlier rows"
        )


def _sources(plan: Plan) -> list[ConnectorTable]:
    nodes = (node for sink in plan.sinks for node in walk(sink))
    tables = {n.table.name: n.table for n in nodes if isinstance(n, Source)}
    return [*tables.values()]


def _offsets(table: ConnectorTable, places: Mapping[str, SourceOffset]) -> Offsets:
    for option in holding(table.connector, (Holds.OBJECT,)):
        found = places.get(topic_key(str(table.spec.options.get(option))))
        if found is not None and not isinstance(found, int):
            return found
    return {}


def _newest_batches(folder: Path) -> list[LoggedBatch | None]:
    """The newest micro-batch of each query of a run, in their order."""
    places = (folder / OUTPUTS / str(number) / "checkpoint" for number in count())
    return [_newest(place) for place in takewhile(Path.is_dir, places)]


def _newest(checkpoint: Path) -> LoggedBatch | None:
    try:
        return LoggedBatch.newest(checkpoint)
    except (OSError, ValueError):
        return None


def _read_places(batches: Iterable[LoggedBatch | None]) -> Mapping[str, SourceOffset]:
    """How far the slowest query of a run has read each topic."""
    found: dict[str, SourceOffset] = {}
    for batch in batches:
        for key, place in ({} if batch is None else batch.places).items():
            found[key] = slower(found[key], place) if key in found else place
    return found
