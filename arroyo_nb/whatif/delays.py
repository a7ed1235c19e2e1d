"""Delays as a user writes them, and a plan with another delay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import transform, walk
from arroyo_nb.run.observe.lateness import MILLISECOND, lateness
from arroyo_nb.run.option_values import duration
from arroyo_nb.tape import LONGEST_WAIT

if TYPE_CHECKING:
    from arroyo_nb.run.observe.trace import Trace

NONE = timedelta(0)

MOST_DELAYS = 24
"""Each delay is a query of its own."""

_HINT = "write them like 1s,30m,2h"

_STEPS = (
    *(timedelta(milliseconds=n) for n in (1, 10, 100)),
    *(timedelta(seconds=n) for n in (1, 5, 10, 30)),
    *(timedelta(minutes=n) for n in (1, 5, 10, 30)),
    timedelta(hours=1),
)
"""What a delay that somebody chooses is a multiple of, ascending."""


def read_delays(written: str | Iterable[str | timedelta]) -> tuple[timedelta, ...]:
    """The delays that a user names, ascending, each once.

    Parameters
    ----------
    written
        A text with commas, or the delays one by one.

    Raises
    ------
    RunProblem
        When one is none, or there is none or too many.

    >>> [str(delay) for delay in read_delays("30m, 1s,1s, 0s")]
    ['0:00:00', '0:00:01', '0:30:00']
    """
    words = written.split(",") if isinstance(written, str) else list(written)
    found = sorted({_delay(word) for word in words})
    if not found:
        raise RunProblem("there is no delay to try", hint=_HINT)
    if len(found) > MOST_DELAYS:
        raise RunProblem(
            f"{len(found)} delays are too many: at most {MOST_DELAYS} are tried at once"
        )
    return tuple(found)


def _delay(word: str | timedelta) -> timedelta:
    if isinstance(word, str):
        text = word.strip()
        if not text:
            raise RunProblem("a delay is missing between the commas", hint=_HINT)
        # No wait at all is a delay worth trying, and no duration of other options.
        number = text.rstrip("smhdin")
        found = NONE if number.strip("0.") == "" and number else duration(text)
    else:
        found = word
    if not isinstance(found, timedelta) or found < NONE:
        raise RunProblem(f"the delay '{word}' is not a length of time", hint=_HINT)
    if found > LONGEST_WAIT:
        raise RunProblem(f"the delay '{word}' is longer than a century")
    if found % MILLISECOND:
        raise RunProblem(
            f"the delay '{word}' is finer than Spark's watermark, which counts "
            "milliseconds"
        )
    return found


def own_delays(sink: nodes.Sink) -> tuple[timedelta, ...]:
    """The delays of the watermarks below a sink, ascending, each once.

    Raises
    ------
    RunProblem
        When there is none, or one follows an expression.
    """
    marks = [node for node in walk(sink) if isinstance(node, nodes.Watermark)]
    if any(mark.expression is not None for mark in marks):
        raise RunProblem(
            "a watermark of this query follows an expression, which has no delay to "
            "change",
            hint="declare it as a column less an interval: WATERMARK FOR at AS at - "
            "INTERVAL '10 seconds'",
        )
    if not marks:
        raise RunProblem("this query has no watermark, and so no delay to change")
    return tuple(sorted({mark.delay for mark in marks}))


def with_delay(sink: nodes.Sink, delay: timedelta) -> nodes.Sink:
    """The same query, each of its watermarks with another delay."""

    def change(node: nodes.Node) -> nodes.Node:
        if isinstance(node, nodes.Watermark) and node.delay != delay:
            return replace(node, delay=delay)
        return node

    made = transform(sink, change)
    assert isinstance(made, nodes.Sink), "a watermark is below it"
    return made


def chosen_delays(
    traces: Sequence[Trace], own: Sequence[timedelta]
) -> tuple[timedelta, ...]:
    """The delays worth trying where nobody names any: that of the run, none, and those
    that its trace says would keep 99 of 100, 999 of 1,000 and all rows, rounded up."""
    found = {NONE, *own}
    for trace in traces:
        seen = lateness(trace.batches, trace.window, max(own))
        found |= {_round_up(d) for d in (seen.keep_99, seen.keep_999, seen.keep_all)}
    return tuple(sorted(found))


def _round_up(delay: timedelta) -> timedelta:
    """A delay that a person would write.

    >>> str(_round_up(timedelta(hours=1, minutes=22, milliseconds=1)))
    '1:25:00'
    """
    # A tenth more than is needed at most, but for very short ones.
    fitting = (step for step in reversed(_STEPS) if 10 * step <= delay)
    step = next(fitting, _STEPS[0])
    return -(-delay // step) * step
