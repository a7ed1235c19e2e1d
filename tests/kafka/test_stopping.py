"""A run that reads a topic is stopped once it has read what has come."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import RunState


def test_what_a_topic_has_by_now_is_read(session, new_topic, eventually, tmp_path):
    topic = new_topic(partitions=2)
    topic.send(*({"n": n} for n in range(50)))
    script = topic.declared("n INT") + "SELECT n FROM t"
    run = session.run(script, name="stopped", state_dir=tmp_path)
    eventually(lambda: run.table().num_rows == 50)
    topic.send(*({"n": n} for n in range(50, 500)))
    run.stop(mode="graceful")
    assert run.wait(60)
    assert (run.state, run.error) == (RunState.STOPPED, None)
    assert sorted(run.table()["n"].to_pylist()) == list(range(500))
    last = run.snapshot()

    # Of a topic that is idle from now on nothing is still to be read.
    again = session.run(script, name="stopped", state_dir=tmp_path)
    eventually(lambda: again.state is RunState.RUNNING, 60)
    resumed = again.snapshot()
    assert resumed.batch_id == last.batch_id
    (source,) = resumed.sources
    assert (source.lag, sum(part.offset for part in source.partitions)) == (0, 500)
    again.stop()
    assert again.wait(60)
