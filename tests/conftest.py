"""What all tests share: one engine for the whole process, and deadlines."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from durations import Durations
from hypothesis import settings
from machine import allowed

# Machines are noisy: a slow example is not a wrong one.
settings.register_profile("default", deadline=None)
settings.load_profile("default")

# A shell has SIGINT ignored in what it runs in the background, and so has what that
# starts: no test could interrupt anything.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine
    from arroyo_nb.session import Session


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations(), "durations")


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The one engine of this test process; tests that kill one use a subprocess."""
    from arroyo_nb.engine import Engine

    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """A fresh catalog on the shared engine; its runs end with the test."""
    from arroyo_nb.session import Session

    session = Session(engine=engine)
    yield session
    for run in session.runs.values():
        run.discard()
    engine.worker.call(lambda: None)


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Waits for a condition with a deadline; fails with what it waited for. What costs
    something to look at is looked at seldom."""

    def wait(
        condition: Callable[[], object], within_s: float = 60.0, every_s: float = 0.01
    ) -> None:
        deadline = time.monotonic() + allowed(within_s)
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {within_s:g} s: {condition}")
            time.sleep(every_s)

    return wait
