"""How long each test and each fixture took: all of them in ``build/durations.json``,
the slowest and the minutes of each folder at the end of the output."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

SLOWEST = 25
LEAST_S = 0.05
"""A fixture that takes less is not noted."""

FILE = Path("build/durations.json")


class Durations:
    """A plugin of pytest. Under xdist, workers send what they measure with the reports
    of their tests, and the controller writes."""

    def __init__(self) -> None:
        self._tests: dict[str, dict[str, float]] = defaultdict(dict)
        self._fixtures: list[dict[str, object]] = []
        self._new: list[tuple[str, str, float]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Iterator[None]:
        began_s = time.perf_counter()
        try:
            return (yield)
        finally:
            took_s = time.perf_counter() - began_s
            if took_s >= LEAST_S:
                self._new.append((fixturedef.argname, fixturedef.scope, took_s))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[pytest.TestReport]:
        report = yield
        report.fixtures, self._new = self._new, []
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid][report.when or ""] = round(report.duration, 4)
        for name, scope, took_s in getattr(report, "fixtures", ()):
            noted = {"name": name, "scope": scope, "s": round(took_s, 3)}
            self._fixtures.append({**noted, "test": report.nodeid})

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        if not self._tests:
            return
        FILE.parent.mkdir(exist_ok=True)
        told = {"tests": self._tests, "fixtures": self._fixtures}
        FILE.write_text(json.dumps(told, indent=0))
        terminalreporter.section(f"durations, all of them in {FILE}")
        for line in self._lines():
            terminalreporter.write_line(line)

    def _lines(self) -> Iterator[str]:
        seconds = {test: sum(took.values()) for test, took in self._tests.items()}
        for test in sorted(seconds, key=lambda test: -seconds[test])[:SLOWEST]:
            yield f"{seconds[test]:7.1f} s  {test}"
        minutes, tests = Counter[str](), Counter[str]()
        for test, took_s in seconds.items():
            folder = "/".join(PurePosixPath(test.partition("::")[0]).parts[:2])
            minutes[folder] += took_s / 60
            tests[folder] += 1
        for folder, took in minutes.most_common():
            yield f"{took:7.1f} min  {tests[folder]:6,} tests  {folder}"
        yield f"{sum(minutes.values()):7.1f} min  {len(seconds):6,} tests"
