"""What all tests share: one engine for the whole process, deadlines, and the families
of long tests."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from durations import Durations
from families import families, family_of, names_family
from hypothesis import settings
from machine import allowed
from seeds import VARIABLE, seed_of_the_day

LONGEST_SLEEP_S = 0.5
"""Between two looks at a condition, however long a look takes."""

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        metavar="FAMILY",
        choices=families(),
        help=f"run the long tests of one family: {', '.join(families())}",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Before workers start, which inherit it.
    seed_of_the_day()
    config.pluginmanager.register(Durations(), "durations")


def pytest_report_header() -> str:
    seed = seed_of_the_day()
    return f"seed of the day: {seed} (to repeat it: {VARIABLE}={seed})"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To run one family, the files without it are not imported."""
    family = config.getoption("--long")
    is_other = (
        family is not None
        and collection_path.name.startswith("test_")
        and collection_path.suffix == ".py"
        and not names_family(collection_path, family)
    )
    return True if is_other else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    family = config.getoption("--long")
    # Of all of them: also where none is chosen, a marker without a family is an error.
    found = [family_of(item) for item in items]
    if family is None:
        return
    others = [i for i, named in zip(items, found, strict=True) if named != family]
    items[:] = [i for i, named in zip(items, found, strict=True) if named == family]
    config.hook.pytest_deselected(items=others)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from scheduling import SharedServers

    return SharedServers(config, log)


class Folder(pytest.Package):
    """A folder of tests, with which fixtures of the scope ``package`` end. To pytest a
    folder without ``__init__.py`` is none: they last to the end of the run then, and a
    browser leaves its event loop to all tests that follow."""

    def setup(self) -> None:
        pass


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> Folder:
    return Folder.from_parent(parent, path=path)


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The one engine of this test process; tests that kill one use a subprocess."""
    from arroyo_nb.engine import Engine, EngineProblem
    from arroyo_nb.engine.jars import CONNECTOR, used_jars

    engine = Engine()
    # Or the first test of a topic would have Spark started once more. Only the tests of
    # topics download its jars.
    there = [used.jars for used in used_jars() if used.place is not None]
    with suppress(EngineProblem):
        if CONNECTOR in there:
            engine.require(CONNECTOR)
    yield engine
    engine.close()


@contextmanager
def _session(engine: Engine) -> Iterator[Session]:
    """A fresh catalog on the shared engine; its runs end with the block."""
    from arroyo_nb.session import Session

    session = Session(engine=engine)
    yield session
    for run in session.runs.values():
        run.discard()
    engine.worker.call(lambda: None)


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """A session of a test's own."""
    with _session(engine) as session:
        yield session


@pytest.fixture(scope="module")
def lasting_session(engine: Engine) -> Iterator[Session]:
    """A session whose runs last for all tests of a module, which only read them."""
    with _session(engine) as session:
        yield session


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Waits for a condition with a deadline; fails with what it waited for. What costs
    something to look at is looked at seldom: the work has most of the time."""

    def wait(
        condition: Callable[[], object], within_s: float = 60.0, every_s: float = 0.01
    ) -> None:
        began_s = time.monotonic()
        deadline = began_s + allowed(within_s)
        while not condition():
            if (looked_s := time.monotonic()) > deadline:
                pytest.fail(f"not within {within_s:g} s: {condition}")
            time.sleep(max(every_s, min(2 * (looked_s - began_s), LONGEST_SLEEP_S)))
            began_s = time.monotonic()

    return wait
