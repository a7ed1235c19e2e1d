"""JupyterLab on loopback, and a page of Debian's Chromium in it."""

from __future__ import annotations

import json
import os
import runpy
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fresh_session import FRESH_SESSION
from machine import allowed

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
START_S = 60.0
QUIET = {  # no dialogs, no news, no saving that was not asked for
    "apputils-extension/notification": '{"fetchNews": "false", '
    '"checkForUpdates": false, "doNotDisturbMode": true}',
    "docmanager-extension/plugin": '{"autosave": false}',
}
APPLICATIONS = {
    "jupyterlab": "--LabApp.news_url=None --LabApp.extension_manager=readonly "
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate "
    "--LabApp.expose_app_in_browser=True",
    "notebook": "--JupyterNotebookApp.expose_app_in_browser=True",
}
"""What each is started with: no news, and its commands are there for a test."""

COLD = """
from arroyo_nb.session import Session
Session.warm_up = lambda self: None
"""
"""Most notebooks of these tests run nothing: Spark starts with the first run only."""

READY = """async (path) => {
  for (let i = 0; i < 600; i++) {
    const w = window.jupyterapp?.shell?.currentWidget, c = w?.context;
    if (c && c.path === path && c.isReady && w.sessionContext.isReady) {
      const k = w.sessionContext.session?.kernel;
      if (k && k.connectionStatus === 'connected' && k.status === 'idle') {
        await k.info;
        return;
      }
    }
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error('kernel not ready');
}"""


OPEN = """(path) => {
  window.jupyterapp.commands.execute('docmanager:open', { path });
}"""

LEAVE = """async () => {
  const { commands, shell } = window.jupyterapp;
  if (document.querySelector('.jp-Dialog')) return false;
  for (const widget of [...shell.widgets('main')]) widget.dispose();
  if (document.body.dataset.jpThemeName !== 'JupyterLab Light')
    await commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' });
  shell.collapseRight();
  shell.activateById('filebrowser');
  return true;
}"""
"""As the page is when it is loaded: one launcher, and the files at the left."""

PLAIN, SPARK = "plain", "spark"
CLEAN = {
    PLAIN: """
import sys
if "arroyo_nb.views.live" in sys.modules:
    from arroyo_nb.views import live
    from ipywidgets import Widget
    live.REFRESHER.close()
    Widget.close_all()
get_ipython().extension_manager.unload_extension("arroyo_nb")
get_ipython().reset(new_session=False)
""",
    SPARK: f"{FRESH_SESSION}\nfrom ipywidgets import Widget; Widget.close_all()",
}
"""Kernels that tests hand on, and how a test leaves them: one that knows nothing of the
extension but what is imported, and one that has a new session on the engine that was
started. A test that ends, restarts or changes its kernel has one of its own."""

RUN = """async (code) => {
  const { currentWidget } = window.jupyterapp.shell;
  const kernel = currentWidget?.sessionContext?.session?.kernel;
  if (!kernel) return false;
  const busy = new Promise((go) => setTimeout(go, 20_000, { content: {} }));
  const reply = kernel.requestExecute({ code, store_history: false }).done;
  return (await Promise.race([reply, busy])).content.status === 'ok';
}"""

WAITING = """() => {
  const content = window.jupyterapp.shell.currentWidget.content;
  return Array.from(content.model.cells)
    .filter((cell) => cell.type === 'code' && cell.executionCount === null)
    .map((cell) => cell.sharedModel.getSource().split('\\n')[0]);
}"""
"""The first line of each code cell of the notebook that has not been run to its end;
what is drawn does not tell: cells out of sight are not on the page."""


@dataclass
class Lab:
    """A running JupyterLab, or Notebook 7, and the folder that it serves."""

    port: int
    token: str
    folder: Path
    process: subprocess.Popen[bytes]
    pages: str = "lab/tree"
    handed_on: dict[str, str] = field(default_factory=dict)
    """Sessions of kernels that no test has now, by their kind."""

    def end_kernels(self) -> None:
        """Shut every kernel down that a test has: what is opened next gets a fresh
        one."""
        deadline = time.monotonic() + START_S
        while found := self._sessions() - set(self.handed_on.values()):
            assert time.monotonic() < deadline, found
            for session in found:
                # The server fails where it starts a killed one again just then.
                with suppress(urllib.error.HTTPError):
                    self._ask("DELETE", f"sessions/{session}")

    def take_kernel(self, kind: str, notebook: str) -> None:
        """Have the kernel of that kind, where there is one, wait for the notebook."""
        if session := self.handed_on.pop(kind, None):
            self._move(session, notebook)

    def hand_on(self, kind: str) -> None:
        """Keep the one kernel that the test has for the next one."""
        (session,) = self._sessions() - set(self.handed_on.values())
        # Or the notebook would find it, if it is opened once more.
        self._move(session, f"{kind}-kernel-of-no-notebook")
        self.handed_on[kind] = session

    def _move(self, session: str, notebook: str) -> None:
        place = {"path": notebook, "name": notebook, "type": "notebook"}
        self._ask("PATCH", f"sessions/{session}", place)

    def _sessions(self) -> set[str]:
        return {session["id"] for session in json.loads(self._ask("GET", "sessions"))}

    def distrust(self, notebook: str) -> None:
        """Change the saved file: it no longer has the signature it was saved with."""
        path = self.folder / notebook
        made = json.loads(path.read_text())
        made["cells"][-1]["metadata"]["changed"] = True
        path.write_text(json.dumps(made))

    def _ask(self, method: str, what: str, body: object = None) -> bytes:
        request = urllib.request.Request(
            f"{self.address}/api/{what}",
            None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bytes(answer.read())

    def url(self, notebook: str) -> str:
        """Where a notebook is, in a workspace of its own: of two pages of JupyterLab in
        the same one, one is loaded once more."""
        workspace = f"lab/workspaces/{secrets.token_hex(4)}/"
        pages = self.pages.replace("lab/", workspace)
        return f"{self.address}/{pages}/{notebook}?token={self.token}"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class Tab:
    """A page of the browser, and what its console complained of."""

    page: Any
    errors: list[str] = field(default_factory=list)
    kind: str = ""
    """Of the kernel that it was handed on; else it is the test's own."""

    def heard(self, said: Any) -> None:
        """Keep what the console says is an error."""
        if said.type == "error":
            self.errors.append(said.text)

    def failed(self, error: Any) -> None:
        """Keep what no script of the page has caught."""
        self.errors.append(str(error))

    def open(self, lab: Lab, notebook: str, kind: str = "") -> None:
        """Open a notebook, in the page if JupyterLab is loaded, and wait for its
        kernel.

        Parameters
        ----------
        lab
            Where the notebook is.
        notebook
            Its file.
        kind
            Of the kernel, where it may be one that another test has had.
        """
        self.kind = kind
        if kind:
            lab.take_kernel(kind, notebook)
        self.begin_to_open(lab, notebook)
        self.page.evaluate(READY, notebook)

    def begin_to_open(self, lab: Lab, notebook: str) -> None:
        """Open a notebook whose kernel is not waited for."""
        if self.page.url.startswith(f"{lab.address}/lab"):
            self.page.evaluate(OPEN, notebook)
        else:
            self.page.goto(lab.url(notebook), wait_until="domcontentloaded")
            self.page.wait_for_function("() => !!window.jupyterapp", timeout=60_000)

    def load(self, lab: Lab, notebook: str) -> None:
        """Load the page of a notebook anew, and wait for its kernel."""
        self.page.goto("about:blank")
        self.open(lab, notebook, self.kind)

    def reopen(self, lab: Lab, notebook: str) -> None:
        """Close the notebook, and open it from its file."""
        self.leave()
        self.open(lab, notebook)

    def leave(self) -> bool:
        """Close all notebooks without a question; whether nothing else is open."""
        return bool(self.page.evaluate(LEAVE))

    def hand_on_kernel(self, lab: Lab) -> None:
        """Leave the kernel to the next test, if it is not the test's own."""
        kind, self.kind = self.kind, ""
        if kind and self.page.evaluate(RUN, CLEAN[kind]):
            lab.hand_on(kind)

    def command(self, name: str) -> None:
        """Start a command of JupyterLab; not awaited, an awaited call can hang."""
        self.page.evaluate(
            "(name) => { window.jupyterapp.commands.execute(name) }", name
        )

    def save(self) -> None:
        """Save the notebook and wait until it is written."""
        self.page.evaluate(
            "async () => { await window.jupyterapp.shell.currentWidget.context.save() }"
        )

    def until_all_ran(self, within_s: float) -> None:
        """Wait until each code cell was run, whether it is in sight or not."""
        deadline = time.monotonic() + within_s
        while waiting := self.page.evaluate(WAITING):
            assert time.monotonic() < deadline, f"not run: {waiting}"
            self.page.wait_for_timeout(100)

    def until_other(self, selector: str, text: str, within_s: float = 15) -> None:
        """Wait until the element's text is another one."""
        deadline = time.monotonic() + within_s
        while self.text(selector) == text:
            assert time.monotonic() < deadline, f"{selector} stays at {text!r}"
            self.page.wait_for_timeout(50)

    def shot(self, name: str) -> None:
        """A picture of the page, for the eye, into ARROYO_NB_SCREENSHOTS."""
        if folder := os.environ.get("ARROYO_NB_SCREENSHOTS"):
            self.page.wait_for_timeout(1000)
            self.page.screenshot(path=f"{folder}/{name}.png")

    def text(self, selector: str) -> str:
        """The text of the one element that matches, shadow trees included."""
        return str(self.page.locator(selector).text_content())


@contextmanager
def heard(page: Any) -> Iterator[Tab]:
    """A page whose errors are collected."""
    tab = Tab(page)
    page.set_default_timeout(1000 * allowed(30.0))
    page.on("console", tab.heard)
    page.on("pageerror", tab.failed)
    yield tab
    page.remove_listener("console", tab.heard)
    page.remove_listener("pageerror", tab.failed)


def write_notebook(path: Path, cells: list[str]) -> None:
    """A notebook of code cells for the kernel of this environment."""
    import nbformat

    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": kernel},
    )
    nbformat.write(made, path)


def skip_unless_there() -> None:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"browser tests need {CHROMIUM} (Debian: apt install chromium)")
    for module in ("playwright", "jupyterlab"):
        pytest.importorskip(module, reason=f"browser tests need {module}")


def start_lab(home: Path, module: str = "jupyterlab") -> Lab:
    """Start an application with settings and trust of its own.

    Parameters
    ----------
    home
        Where all its files are.
    module
        ``jupyterlab`` or ``notebook``.
    """
    for name, settings in QUIET.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(settings)
    # The one of these files, not the one that is installed.
    runpy.run_path(str(ROOT / "scripts" / "labextension.py"))["lay_out"](
        home / "jupyter" / "labextensions" / "arroyo-nb"
    )
    startup = home / "ipython" / "profile_default" / "startup" / "cold.py"
    startup.parent.mkdir(parents=True)
    startup.write_text(COLD)
    folder = home / "notebooks"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    arguments = (
        "--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0 "
        f"{APPLICATIONS[module]} --port={port} --IdentityProvider.token={token}"
    )
    with (home / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments.split()],
            cwd=folder,
            env=_environment(home),
            stdout=log,
            stderr=log,
        )
    pages = "lab/tree" if module == "jupyterlab" else "notebooks"
    return Lab(port, token, folder, process, pages)


def _environment(home: Path) -> dict[str, str]:
    folders = {
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "JUPYTER_PATH": home / "jupyter",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": os.pathsep.join(
            (str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        ),
    }
    return os.environ | {name: str(folder) for name, folder in folders.items()}


def wait_for(lab: Lab) -> None:
    address = f"http://127.0.0.1:{lab.port}/api/status?token={lab.token}"
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if lab.process.poll() is not None:
                break
            time.sleep(0.1)
    log = (lab.folder.parent / "lab.log").read_text(errors="replace")
    raise AssertionError(f"JupyterLab did not start:\n{log[-2000:]}")
