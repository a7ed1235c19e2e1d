"""A plugin of pytest: the name of the first test that failed, in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        Path(os.environ["FIRST_FAILURE"]).write_text(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        Path(os.environ["FIRST_FAILURE"]).write_text("collection")
