"""JupyterLab and a browser for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from lab import CHROMIUM, Lab, Tab, heard, skip_unless_there, start_lab, wait_for


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


@pytest.fixture(scope="package")
def loaded() -> list[Any]:
    """The page of JupyterLab that tests hand on, where there is one."""
    return []


@pytest.fixture
def tab(
    request: pytest.FixtureRequest, browser: Any, loaded: list[Any]
) -> Iterator[Tab]:
    """A page, with nothing open in it. To load JupyterLab takes longer than most tests,
    so they hand their page on, unless one fails. A test that changes its page for good,
    as by a clock or a script, is marked ``own_page``."""
    names, own = request.fixturenames, request.node.get_closest_marker("own_page")
    lab = request.getfixturevalue("lab") if "lab" in names else None
    page = loaded.pop() if lab and not own and loaded else browser.new_page()
    failed = request.session.testsfailed
    with heard(page) as tab:
        yield tab
        tab.shot("last")
    passed = request.session.testsfailed == failed
    if lab and passed:
        tab.hand_on_kernel(lab)
    if lab and passed and not own and tab.leave():
        loaded.append(page)
    else:
        page.close()
