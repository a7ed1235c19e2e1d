"""A run of a topic is paused and stepped, by the micro-batches that Spark reads."""

import json

from arroyo_nb.run.observe.snapshot import RunState


def records(numbers):
    return [json.dumps({"n": n}).encode() for n in numbers]


def test_a_run_of_a_topic_pauses_steps_and_goes_on(new_topic, session, eventually):
    topic = new_topic(1)
    topic.send(*records(range(3)))
    run = session.run(topic.declared("n BIGINT") + "SELECT n FROM t", step=True)
    gate = run.outputs[0].gate
    assert run.snapshot().can_pause

    # Nothing is read before the first step, and one batch by each.
    eventually(lambda: gate.is_holding)
    assert run.rows_in == 0
    run.step()
    eventually(lambda: run.rows_in == 3)
    topic.send(*records(range(3, 5)))
    eventually(lambda: gate.is_holding)
    picture = run.snapshot()
    assert (picture.rows_in, picture.rows_out, picture.paused) == (3, 3, True)
    run.step()
    eventually(lambda: run.rows_in == 5)
    assert run.progress.batch_id == picture.batch_id + 1

    run.resume()
    topic.send(*records(range(5, 9)))
    eventually(lambda: run.rows_in == 9)
    assert run.table()["n"].to_pylist() == list(range(9))

    # What is held is read by a stop that reads all that has come, and not by another.
    run.pause()
    topic.send(*records([9]))
    eventually(lambda: gate.is_holding)
    assert run.stop().wait(20)
    assert (run.state, run.rows_in) == (RunState.STOPPED, 9)


def test_a_graceful_stop_reads_what_a_pause_held(new_topic, session, eventually):
    topic = new_topic(1)
    topic.send(*records(range(3)))
    run = session.run(topic.declared("n BIGINT") + "SELECT n FROM t", step=True)
    eventually(lambda: run.outputs[0].gate.is_holding)
    assert run.stop(mode="graceful").wait(30)
    assert (run.state, run.rows_in) == (RunState.STOPPED, 3)
