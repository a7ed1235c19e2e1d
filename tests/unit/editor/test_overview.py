"""What the side panel is told of a session, without a JVM."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.editor import known_topics
from arroyo_nb.editor.command_line import command_line
from arroyo_nb.editor.overview import Overview, overview
from arroyo_nb.editor.stop_run import stop_run
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.peek.topics import Partition, Topic
from arroyo_nb.option_flags import split
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.session import Session

FLIGHTS = """
CREATE TABLE flights (
    at TIMESTAMP NOT NULL,
    "tailNum" TEXT,
    "a ""b"" c" INT,
    WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (connector = 'single_file', path = 'flights.json', format = 'json',
        type = 'source')
"""
SINK = """
CREATE TABLE out (n BIGINT) WITH
    (connector = 'single_file', path = 'o.json', format = 'json', type = 'sink')
"""
ORDERS = """
CREATE TABLE {name} (id BIGINT) WITH (connector = 'kafka', type = 'source',
    bootstrap_servers = '{servers}', topic = 'orders', format = 'json')
"""


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """A session whose engine must not be asked for anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    with Session(engine=SimpleNamespace()) as made:  # type: ignore[arg-type]
        yield made


def observation(mark: datetime | None, newest: datetime | None) -> SimpleNamespace:
    batch = None if mark is None else SimpleNamespace(watermark=mark)
    return SimpleNamespace(
        lock=threading.RLock(), newest_batch=batch, max_event_time=newest
    )


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeRun:
    """A run that stands where it is told to."""

    rows_per_s = 12_430.0

    def __init__(
        self,
        name: str,
        state: RunState,
        mark: datetime | None = None,
        newest: datetime | None = None,
        *,
        paused: bool = False,
    ) -> None:
        self.name, self.state = name, state
        self.sources = SimpleNamespace(paused=paused)
        self.outputs = [SimpleNamespace(observation=observation(mark, newest))]

    def stop(self, *_: object) -> None:
        self.state = RunState.STOPPED

    def wait_quietly(self, timeout: float) -> bool:
        return True

    discard = detach = forget = stop


def until(session: Session, holds: Callable[[Overview], bool]) -> Overview:
    """The first overview of which it holds."""
    deadline = time.monotonic() + 10
    while not holds(found := overview(session)):
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def test_a_table_has_its_columns_its_event_time_and_its_watermark(
    session: Session,
) -> None:
    session.run(FLIGHTS)
    (table,) = overview(session).tables
    assert (table.kind, table.connector) == ("table", "single_file source")
    assert (table.watermark, table.head) == ("at - 10 s", "%arroyo head flights")
    columns = [(c.name, c.type, c.event_time, c.sql) for c in table.columns]
    assert columns == [
        ("at", "TIMESTAMP", True, "at"),
        ("tailNum", "TEXT", False, '"tailNum"'),
        ('a "b" c', "INT", False, '"a ""b"" c"'),
    ]


def test_what_is_no_source_has_no_watermark_and_no_first_rows(session: Session) -> None:
    session.run(FLIGHTS + ";" + SINK)
    session.run("CREATE VIEW delays AS SELECT at FROM flights")
    session.run("CREATE TABLE edge (n BIGINT)")
    found = {
        t.name: (t.kind, t.connector, t.watermark, t.head)
        for t in overview(session).tables
    }
    del found["flights"]
    assert found == {
        "delays": ("view", None, None, None),
        "edge": ("table", None, None, None),
        "out": ("table", "single_file sink", None, None),
    }


def test_a_watermark_that_no_fixed_delay_makes_is_named(session: Session) -> None:
    mark = "CASE WHEN \"tailNum\" = 'x' THEN at ELSE at - INTERVAL '1 hour' END"
    session.run(FLIGHTS.replace("at - INTERVAL '10 seconds'", mark))
    (table,) = overview(session).tables
    assert table.watermark == "an expression over at"


def test_a_source_without_a_watermark_has_that_of_its_records(session: Session) -> None:
    session.run("CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)")
    assert overview(session).tables[0].watermark == "time of the record - 1 s"


def test_dropped_tables_are_gone_at_the_next_question(session: Session) -> None:
    session.run(FLIGHTS)
    assert overview(session).tables
    session.run("DROP TABLE flights")
    assert overview(session).tables == ()


def test_runs_have_state_rate_and_lag_and_the_live_ones_come_first(
    session: Session,
) -> None:
    minute = timedelta(minutes=1)
    runs = (
        FakeRun("over", RunState.FINISHED, NOON, NOON),
        FakeRun("starts", RunState.STARTING),
        FakeRun("goes", RunState.RUNNING, NOON - minute, NOON),
        FakeRun("waits", RunState.RUNNING, NOON, NOON, paused=True),
        # The watermark of a bounded stream that has been read.
        FakeRun("at_its_end", RunState.RUNNING, NOON.replace(year=9998), NOON),
    )
    for run in runs:
        session._runs.add(run)  # type: ignore[arg-type]
    found = [(r.name, r.state, r.rows_s, r.lag, r.live) for r in overview(session).runs]
    assert found == [
        ("starts", "starting", None, None, True),
        ("goes", "running", "12.4k", "1 min", True),
        ("waits", "paused", "12.4k", "0 ms", True),
        ("at_its_end", "running", "12.4k", None, True),
        ("over", "finished", None, None, False),
    ]


class Broker:
    """Answers in place of the brokers; holds an answer back until it may come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Access, str]] = []
        self.may_answer = threading.Event()
        self.topics = [
            Topic("orders", (Partition(0, 2, 7), Partition(1, 0, 3)), 1_767_268_800_000)
        ]
        monkeypatch.setattr(
            "arroyo_nb.kafka.peek.topics.topics_with_times", self.answer
        )

    def answer(
        self, access: Access, broker: str, *, check: Callable[[], None]
    ) -> list[Topic]:
        self.asked.append((access, broker))
        while not self.may_answer.wait(0.005):
            check()
        return self.topics


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    made = Broker(monkeypatch)
    yield made
    made.may_answer.set()


def test_topics_of_a_tables_broker_are_asked_in_the_background(
    session: Session, broker: Broker
) -> None:
    session.run(ORDERS.format(name="orders", servers="h:1"))
    begun = time.monotonic()
    found = overview(session)
    assert time.monotonic() - begun < 1
    assert [(b.name, b.note) for b in found.brokers] == [
        ("h:1", "has not answered yet")
    ]
    broker.may_answer.set()
    (topic,) = until(session, lambda found: bool(found.topics)).topics
    assert (topic.name, topic.broker, topic.records) == ("orders", "h:1", 8)
    assert topic.newest == "2026-01-01T12:00:00Z"


def test_a_broker_is_asked_once_by_many_questions_and_tables(
    session: Session, broker: Broker
) -> None:
    broker.may_answer.set()
    for name in ("a", "b"):
        session.run(ORDERS.format(name=name, servers="h:1"))
    until(session, lambda found: bool(found.topics))
    for _ in range(50):
        overview(session)
    assert len(broker.asked) == 1


def test_what_a_broker_said_is_asked_again_when_it_is_old(
    session: Session, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_topics, "KEEP_S", 0.0)
    broker.may_answer.set()
    session.run(ORDERS.format(name="a", servers="h:1"))
    until(session, lambda found: bool(found.topics))
    broker.topics = [Topic("others", ())]
    until(session, lambda found: [t.name for t in found.topics] == ["others"])


def test_a_silent_broker_is_told_and_holds_up_no_other_one(
    session: Session, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_topics, "BOUND_S", 0.0)
    session.run(ORDERS.format(name="a", servers="h:1"))
    found = until(session, lambda found: "too long" in found.brokers[0].note)
    assert found.topics == ()
    broker.may_answer.set()
    session.run(ORDERS.format(name="b", servers="h:2"))
    until(session, lambda found: [t.broker for t in found.topics] == ["h:2"])


def test_a_broker_whose_last_table_is_dropped_is_no_longer_asked(
    session: Session, broker: Broker
) -> None:
    broker.may_answer.set()
    session.run(ORDERS.format(name="a", servers="h:1"))
    until(session, lambda found: bool(found.topics))
    session.run("DROP TABLE a")
    assert overview(session).brokers == ()


def test_a_table_with_an_unset_variable_is_no_reason_to_fail(
    session: Session, broker: Broker
) -> None:
    session.run(ORDERS.format(name="a", servers="{{ NO_SUCH_BROKER }}"))
    assert overview(session).brokers == ()
    assert broker.asked == []


def test_the_address_of_a_variable_is_shown_as_the_script_has_it(
    session: Session, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORDERS_BROKER", "not an address")
    session.run(ORDERS.format(name="a", servers="{{ ORDERS_BROKER }}"))
    assert overview(session).brokers[0].name == "{{ ORDERS_BROKER }}"


def test_topics_of_the_local_broker_are_there_without_a_table(
    session: Session, broker: Broker
) -> None:
    broker.may_answer.set()
    local: Any = SimpleNamespace(
        alive=True, bootstrap_servers="127.0.0.1:9", close=lambda: None
    )
    session.broker = local
    (topic,) = until(session, lambda found: bool(found.topics)).topics
    assert topic.broker == "127.0.0.1:9"
    local.alive = False
    assert overview(session).brokers == ()


def test_jobs_are_read_in_the_background_with_folders_beside_the_notebook(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "books" / "a.ipynb"))
    for folder in (tmp_path / "jobs" / "by_hour", tmp_path / "books" / "other"):
        folder.mkdir(parents=True)
        (folder / "job.yaml").write_text("{")
    session.jobs.add(tmp_path / "books" / "other" / "job.yaml")
    found = until(session, lambda found: len(found.jobs) == 2)
    assert [(job.name, job.folder) for job in found.jobs] == [
        ("other", "other"),
        ("by_hour", "../jobs/by_hour"),
    ]
    assert all(job.state.startswith("unreadable") for job in found.jobs)


def test_only_a_topic_that_a_line_can_reach_has_a_line(
    session: Session, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.may_answer.set()
    monkeypatch.setenv("ORDERS_BROKER", "h:2")
    session.run(ORDERS.format(name="a", servers="h:1"))
    session.run(ORDERS.format(name="b", servers="{{ ORDERS_BROKER }}"))
    login = (
        "h:3', 'auth.type' = 'sasl', 'auth.protocol' = 'SASL_SSL', "
        "'auth.mechanism' = 'PLAIN', 'auth.username' = 'u', 'auth.password' = 'p"
    )
    session.run(ORDERS.format(name="c", servers=login))
    found = until(session, lambda found: len(found.topics) == 3)
    assert {topic.broker: topic.peek for topic in found.topics} == {
        "h:1": "%arroyo peek orders h:1",
        "{{ ORDERS_BROKER }} (h:2)": None,
        "h:3": None,
    }


def test_a_run_is_stopped_by_its_name(session: Session) -> None:
    run = FakeRun("it's", RunState.RUNNING)
    session._runs.add(run)  # type: ignore[arg-type]
    assert overview(session).runs[0].show == "%arroyo show 'it'\"'\"'s'"
    assert stop_run(session, "it's") == "stopping it's"
    assert run.state is RunState.STOPPED
    assert "ended already" in stop_run(session, "it's")
    with pytest.raises(RunProblem, match="there is no run 'other'"):
        stop_run(session, "other")


@pytest.mark.parametrize("name", ["two\nlines", "--all", ""])
def test_what_fits_in_no_line_has_none(name: str) -> None:
    assert command_line("head", name) is None


def test_a_line_is_read_as_it_was_meant() -> None:
    for name in ("a b", "it's", '"', "$HOME", "x?", "{x}", "\\", "ä", "<b>"):
        line = command_line("head", name)
        assert line is not None
        assert split(line.removeprefix("%arroyo ")) == ["head", name]


def test_an_empty_session_has_nothing_and_starts_nothing(session: Session) -> None:
    threads = threading.active_count()
    assert overview(session).as_json() == {
        "tables": [], "brokers": [], "topics": [], "runs": [], "jobs": [],
    }  # fmt: skip
    # The one that looks for jobs.
    assert threading.active_count() <= threads + 1


def test_a_session_that_nobody_holds_is_not_kept(session: Session) -> None:
    from arroyo_nb.editor.overview import _KNOWN

    overview(session)
    assert list(_KNOWN.keys()).count(session) == 1
    known = _KNOWN[session]
    held = [value for value in vars(known).values() if value is session]
    assert held == []


def test_a_hundred_tables_and_twenty_runs_take_no_time(session: Session) -> None:
    for number in range(100):
        session.run(FLIGHTS.replace("flights", f"flights_{number}"))
    for number in range(20):
        run = FakeRun(f"r{number}", RunState.RUNNING, NOON, NOON)
        session._runs.add(run)  # type: ignore[arg-type]
    overview(session)  # loads what it needs
    taken = []
    for _ in range(20):
        # Each cell that declares makes a catalog anew.
        session.catalog = session.catalog.without("nothing")
        # Not the time of the day: other tests run beside this one.
        begun = time.thread_time()
        text = json.dumps(overview(session).as_json())
        taken.append(time.thread_time() - begun)
    assert len(json.loads(text)["tables"]) == 100
    assert sorted(taken)[len(taken) // 2] < 0.03
