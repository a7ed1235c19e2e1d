"""JupyterLab and a browser for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from lab import CHROMIUM, Lab, Tab, skip_unless_there, start_lab, wait_for
from machine import allowed


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Chromium for the folder: what it has compiled of JupyterLab it knows again.
    It ends with the folder, as others could not use asyncio beside it."""
    skip_unless_there()
    from playwright.sync_api import sync_playwright

    flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run"
    profile = tmp_path_factory.mktemp("profile")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=CHROMIUM,
            headless=True,
            args=flags.split(),
            viewport={"width": 1200, "height": 1000},
        )
        yield context
        context.close()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """A fresh page without cookies."""
    browser.clear_cookies()
    made = Tab(browser.new_page())
    made.page.set_default_timeout(1000 * allowed(30.0))
    made.page.on("console", made.heard)
    made.page.on("pageerror", lambda error: made.errors.append(str(error)))
    yield made
    made.shot("last")
    made.page.close()
