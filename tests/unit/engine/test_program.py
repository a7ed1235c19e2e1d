"""A process is waited for while it works, and no longer."""

from __future__ import annotations

import sys
import time

import pytest
from machine import allowed

from arroyo_nb.engine import program
from arroyo_nb.engine.program import Child

WORKS = "while True: pass"
RESTS = "import time; time.sleep(600)"
LEAVES_IT_TO_ANOTHER = (
    f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{WORKS}'])"
)


@pytest.fixture
def started(tmp_path):
    children: list[Child] = []

    def start(code: str) -> Child:
        children.append(Child([sys.executable, "-c", code], tmp_path / "log"))
        return children[-1]

    yield start
    for child in children:
        child.kill()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(program, "IDLE_S", 2.0)
    monkeypatch.setattr(program, "MEASURE_S", 0.05)
    monkeypatch.setattr(program, "WORK_S", 0.02)


@pytest.mark.parametrize("code", [WORKS, LEAVES_IT_TO_ANOTHER])
def test_one_that_works_is_waited_for(started, code):
    begun_s = time.monotonic()
    # Longer than one that rests may take.
    is_done = lambda: time.monotonic() - begun_s > 5  # noqa: E731
    assert started(code).works_until(is_done) == ""


def test_one_that_rests_is_given_up(started):
    begun_s = time.monotonic()
    why = started(RESTS).works_until(lambda: False)
    assert why == "it has done nothing for 2 s"
    assert time.monotonic() - begun_s < allowed(10)


def test_one_that_takes_too_long_is_given_up(started, monkeypatch):
    monkeypatch.setattr(program, "MOST_S", 3.0)
    why = started(WORKS).works_until(lambda: False)
    assert why == "it was not done after 0.05 minutes"


def test_who_waits_may_give_up(started):
    def check():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        started(WORKS).works_until(lambda: False, check)


def test_one_that_has_ended_is_not_waited_for(started):
    child = started("pass")
    assert child.works_until(lambda: False) == ""
    assert not child.alive
