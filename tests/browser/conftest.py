"""JupyterLab and a browser for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import CHROMIUM, Lab, Tab, skip_unless_there, start_lab, wait_for


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab with settings and trust of its own."""
    skip_unless_there()
    home = tmp_path_factory.mktemp("lab")
    server = start_lab(home)
    try:
        wait_for(server)
        yield server
    finally:
        server.process.terminate()
        server.process.wait(timeout=20)


@pytest.fixture(autouse=True)
def no_kernel_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """End the kernels of each test: their panels and engines would go on, and slow down
    all tests that follow."""
    yield
    if "lab" in request.fixturenames:
        request.getfixturevalue("lab").end_kernels()


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    """A fresh browser profile with one page."""
    skip_unless_there()
    from playwright.sync_api import sync_playwright

    flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run"
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path / "profile"),
            executable_path=CHROMIUM,
            headless=True,
            args=flags.split(),
            viewport={"width": 1200, "height": 1000},
        )
        made = Tab(context.pages[0])
        made.page.on(
            "console",
            lambda said: (
                made.errors.append(said.text) if said.type == "error" else None
            ),
        )
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        yield made
        made.shot("last")
        context.close()
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)
