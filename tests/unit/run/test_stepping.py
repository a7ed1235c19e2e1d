"""What a run can be stepped to, without an engine."""

from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.progress import TriggerProgress
from arroyo_nb.run.observe.query_observation import QueryObservation
from arroyo_nb.run.observe.trace import TracedBatch
from arroyo_nb.run.stepping import Goal, Stepping, condition
from arroyo_nb.schema import EPOCH

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);"
PLAIN = "SELECT counter FROM ticks;"
WINDOWED = "SELECT count(*) AS n, tumble(INTERVAL '1 hour') AS w FROM ticks GROUP BY w;"
HOUR = timedelta(hours=1)


def outputs_of(*queries):
    plan = plan_script(TICKS + "".join(queries), Catalog())
    return [QueryObservation(s, traced=True, preview=None) for s in plan.sinks]


def test_a_run_steps_to_late_rows_and_windows_of_the_output_that_has_them():
    plain, windowed = outputs = outputs_of(PLAIN, WINDOWED)
    late, closed = (condition(outputs, 1, until) for until in ("late", "window"))
    assert not late.is_reached()
    assert not closed.is_reached()
    first = TracedBatch(0, 0, EPOCH + 2 * HOUR, EPOCH, {}, None, {EPOCH: 1})
    windowed.traces[0].add(first)
    assert closed.is_reached()
    assert not late.is_reached()
    mark = EPOCH + 2 * HOUR
    windowed.traces[0].add(TracedBatch(1, 0, mark, mark, {}, None, {EPOCH: 1}))
    assert late.is_reached()
    # Batches are those of the first output.
    one = condition(outputs, 1, None)
    windowed._take(TriggerProgress(0, 1.0, None))
    assert not one.is_reached()
    plain._take(TriggerProgress(0, 1.0, None))
    assert one.is_reached()


@pytest.mark.parametrize("batches", [0, -1, 1.5, "x", None])
def test_what_is_no_number_of_batches_is_refused(batches):
    with pytest.raises(RunProblem, match="cannot be stepped"):
        condition(outputs_of(PLAIN), batches, None)


@pytest.mark.parametrize("until", ["late", "window"])
def test_without_a_window_nothing_is_late(until):
    with pytest.raises(RunProblem, match="the query has no window"):
        condition(outputs_of(PLAIN), 1, until)


def test_a_batch_that_ended_before_a_step_does_not_make_another():
    steps, ended = [], [1]
    stepping = Stepping(lambda: steps.append(ended[-1]), lambda: ended[-1])
    stepping.begin(Goal(lambda: ended[-1] >= 3, lambda: "to 3"))
    # The worker tells of the first batch only now.
    stepping.go_on()
    assert steps == [1]
    ended.append(2)
    stepping.go_on()
    stepping.go_on()
    assert steps == [1, 2]
    ended.append(3)
    stepping.go_on()
    ended.append(4)
    stepping.go_on()
    assert steps == [1, 2]


def test_a_run_that_is_resumed_is_not_stepped_again():
    """What the worker has decided is done before end() returns to who resumes it."""
    done, ended, deciding, resumed = [], [0], Event(), Event()

    def step():
        if ended[-1]:
            deciding.set()
            resumed.wait(0.2)
        done.append("step")

    stepping = Stepping(step, lambda: ended[-1])
    stepping.begin(Goal(lambda: False, lambda: "for ever"))
    ended.append(1)
    worker = Thread(target=stepping.go_on)
    worker.start()
    deciding.wait(5)
    stepping.end()
    done.append("resume")
    resumed.set()
    worker.join()
    assert done == ["step", "step", "resume"]
