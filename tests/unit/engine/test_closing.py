"""An engine that is closed while it starts, with a JVM that only pretends."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.engine import (
    Engine,
    EngineProblem,
    class_data,
    external_session,
    folders,
    gateway,
    launch,
)
from arroyo_nb.engine import engine as module
from arroyo_nb.engine.java import Java

DEADLINE_S = 20


class Starting:
    """An engine, what it did, and a way to close it in the middle of that."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.engine = Engine(on_event=lambda event: self.done.append(event.kind))
        self.closing = threading.Thread(target=self.engine.close)
        self.close_at = ""

    def at(self, place: str, gives: Any) -> Callable[..., Any]:
        def reach(*_: object, **__: object) -> Any:
            self.done.append(place)
            if place == self.close_at:
                self.closing.start()
                while not self.engine._closed:
                    pass
            return gives

        return reach

    def start(self) -> None:
        """Ask for a session; returns when the worker and the closing have ended."""
        with pytest.raises(EngineProblem, match="the engine is closed"):
            self.engine.worker.call(lambda: self.engine.session, timeout=DEADLINE_S)
        self.closing.join(DEADLINE_S)


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Starting]:
    made = Starting()
    jvm = SimpleNamespace(
        alive=True,
        pid=0,
        process=None,
        wait_until_up=made.at("up", None),
        kill=made.at("killed", None),
    )
    monkeypatch.setattr(external_session, "active_session", lambda: None)
    archive = SimpleNamespace(exists=False, use=list)
    monkeypatch.setattr(module, "find_java", made.at("java", None))
    monkeypatch.setattr(class_data, "archive_for", lambda java: archive)
    monkeypatch.setattr(launch, "start", made.at("launched", jvm))
    monkeypatch.setattr(gateway, "import_pyspark", made.at("imported", None))
    monkeypatch.setattr(gateway, "connect", made.at("connected", None))
    monkeypatch.setattr(gateway, "forget", lambda: None)
    monkeypatch.setattr(folders, "default_base", lambda: tmp_path)
    yield made
    made.engine.close()


def test_one_that_is_closed_before_it_starts_a_jvm_starts_none(
    starting: Starting, tmp_path: Path
) -> None:
    starting.close_at = "java"
    starting.start()
    assert "launched" not in starting.done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["launched", "imported", "up", "connected"])
def test_one_that_is_closed_while_its_jvm_starts_leaves_nothing(
    starting: Starting, tmp_path: Path, place: str
) -> None:
    starting.close_at = place
    starting.start()
    # By who starts it, and, once it is known, by who closes the engine.
    kills = 1 if place == "launched" else 2
    assert starting.done.count("killed") == kills
    assert ("up" in starting.done) == (place != "launched")
    assert "failed" not in starting.done
    assert starting.engine.status == "closed"
    assert list(tmp_path.iterdir()) == []


def test_a_jvm_that_has_ended_is_not_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its number may be another's by now."""
    java = Java(Path("/jdk"), "17.0.1", "Maker 17", frozenset())
    ended = launch.Jvm([sys.executable, "-c", ""], tmp_path, java)
    assert ended.wait(DEADLINE_S)
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("killed"))
    ended.kill()


_FORGET = """
from types import SimpleNamespace
from pyspark import SparkContext
from arroyo_nb.engine import gateway

class NoThread:
    def __init__(self, *_, **__):
        pass
    def start(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

SparkContext._active_spark_context = SimpleNamespace(_jsc=1, _accumulatorServer=None)
gateway.Thread = NoThread
gateway.forget()
assert SparkContext._active_spark_context is None
"""


def test_a_jvm_is_forgotten_while_python_ends() -> None:
    """Python 3.12 starts no thread then."""
    subprocess.run([sys.executable, "-c", _FORGET], check=True)
