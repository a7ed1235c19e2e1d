"""A run that reads a topic is stopped once it has read what has come."""

from arroyo_nb.run.snapshot import RunState


def test_what_a_topic_has_by_now_is_read(session, new_topic, eventually):
    topic = new_topic(partitions=2)
    topic.send(*({"n": n} for n in range(50)))
    run = session.run(topic.declared("n INT") + "SELECT n FROM t")
    eventually(lambda: run.table().num_rows == 50)
    topic.send(*({"n": n} for n in range(50, 500)))
    run.stop(mode="graceful")
    assert run.wait(60)
    assert (run.state, run.error) == (RunState.STOPPED, None)
    assert sorted(run.table()["n"].to_pylist()) == list(range(500))
