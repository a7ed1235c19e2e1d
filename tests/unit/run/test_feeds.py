"""What feeds a run: when it is asked before it has begun, and what it cannot do."""

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.planner import plan_script
from arroyo_nb.run.feeds import Feeds
from arroyo_nb.run.folder import RunFolder
from arroyo_nb.tape.format import chunk_numbers, chunk_path

SCRIPT = """
CREATE TABLE ticks (
  counter BIGINT NOT NULL, {column}
  WATERMARK FOR {time}
) WITH (connector = 'single_file', type = 'source', format = 'json', path = '{path}');
SELECT counter FROM ticks;
"""
GENERATED = (
    "made TIMESTAMP NOT NULL GENERATED ALWAYS AS (to_timestamp(counter)) STORED,"
)
PHYSICAL = "t TIMESTAMP NOT NULL,"
DEADLINE_S = 20


@pytest.fixture
def feeds(tmp_path):
    """Makes the feeds of a query over a file of one chunk, and ends them."""
    path = tmp_path / "ticks.json"
    path.write_text('{"counter": 1, "t": "2013-03-04T05:06:07"}\n')
    made = []

    def make(*, column=PHYSICAL, time="t", speed="max", stepping=False):
        text = SCRIPT.format(column=column, time=time, path=path)
        sinks = plan_script(text, Catalog()).sinks
        made.append(Feeds(sinks, speed=speed, stepping=stepping))
        return made[-1]

    yield make
    for one in made:
        one.close()
        one.join(DEADLINE_S)


@pytest.fixture
def claim(tmp_path):
    folder = RunFolder(tmp_path / "state", plan_text="", name="r")
    yield folder
    folder.release()


def released(one):
    (source,) = one._folders.values()
    return len(chunk_numbers(source))


def test_what_is_asked_for_while_it_starts_is_done_when_it_has_started(
    feeds, claim, eventually
):
    one = feeds()
    one.step()
    one.step()
    assert one.paused
    one.start(claim)
    # Of three chunks, the row's and two at the end, the third is not stepped to.
    eventually(lambda: released(one) == 2)
    assert one.sources()[0].paused
    one.resume()
    eventually(lambda: released(one) == 3)
    assert not one.paused


def test_a_pause_that_was_taken_back_while_it_starts_is_none(feeds, claim, eventually):
    one = feeds(stepping=True)
    one.step()
    one.resume()
    one.start(claim)
    eventually(lambda: one.sources()[0].ended)
    assert not one.paused


def test_a_generated_time_cannot_set_the_pace(feeds, claim, eventually):
    with pytest.raises(RunProblem, match="'ticks' cannot be played at a speed") as told:
        feeds(column=GENERATED, time="made", speed=60.0)
    assert "its event time 'made' is a generated column" in str(told.value)
    assert told.value.span is not None
    feeds(speed=60.0)
    one = feeds(column=GENERATED, time="made")
    one.start(claim)
    eventually(lambda: one.sources()[0].ended)
    # The newest arrival is not the newest event time.
    assert one.sources()[0].max_event_time is None


def test_chunks_that_are_gone_are_told(feeds, claim, eventually):
    one = feeds()
    one.start(claim)
    eventually(lambda: one.sources()[0].ended)
    ((key, folder),) = one._folders.items()
    (source,) = (feed.table for feed in one._feeds)
    assert one.has_chunks({key: (0, 3)})
    assert one.has_chunks({})
    chunk_path(folder, 1).unlink()
    assert one.has_chunks({key: (1, 3)})
    assert not one.has_chunks({key: (0, 1)})
    node = type("Node", (), {"table": source})()
    with pytest.raises(RunProblem, match="rows that 'ticks' gave are gone"):
        one.read_chunks(None, {key: (0, 3)}, node)
