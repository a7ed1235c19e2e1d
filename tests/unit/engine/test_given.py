"""A Spark of the user's: one that was handed in, and one that was only found."""

from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.engine import Engine, EngineProblem, class_data, external_session
from arroyo_nb.engine import engine as module


def spark() -> Any:
    """As much of a session as tells that it is on."""
    return SimpleNamespace(_sc=SimpleNamespace(_jsc=object()))


def stop(session: Any) -> None:
    session._sc._jsc = None


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions of this process; no JVM is started, ours is called ``ours``."""
    sessions: list[Any] = []

    def active() -> Any:
        return next((one for one in sessions if external_session.is_on(one)), None)

    ours = spark()
    ours.name = "ours"
    archive = SimpleNamespace(exists=False, use=list)
    monkeypatch.setattr(external_session, "active_session", active)
    monkeypatch.setattr(external_session, "derive", lambda session: session)
    monkeypatch.setattr(module, "find_java", lambda: None)
    monkeypatch.setattr(class_data, "archive_for", lambda java: archive)
    monkeypatch.setattr(Engine, "_connect", lambda *_: ours)
    return sessions


def session_of(engine: Engine) -> Any:
    return engine.worker.call(lambda: engine.session, timeout=20)


def test_one_that_was_found_and_stopped_is_followed_by_ours(found: list[Any]) -> None:
    first = spark()
    found.append(first)
    events: list[str] = []
    engine = Engine(on_event=lambda event: events.append(event.text))
    assert session_of(engine) is first
    stop(first)
    assert engine.died() == "its SparkSession was stopped"
    assert session_of(engine).name == "ours"
    assert engine.restarts == 1
    assert any("SparkSession of this process was stopped" in text for text in events)
    engine.close()


def test_one_that_was_found_is_followed_by_another_of_the_user(
    found: list[Any],
) -> None:
    first, second = spark(), spark()
    found += [first, second]
    engine = Engine()
    assert session_of(engine) is first
    stop(first)
    assert session_of(engine) is second
    engine.close()


def test_one_that_was_handed_in_is_never_replaced(found: list[Any]) -> None:
    first = spark()
    found.append(spark())
    engine = Engine(first)
    assert session_of(engine) is first
    stop(first)
    for _ in range(2):
        with pytest.raises(EngineProblem, match="handed in has been stopped") as told:
            session_of(engine)
        assert told.value.lasting
    engine.close()
