"""A real ipykernel, driven over its sockets as a front end drives it.

A kernel is a process of its own: faults are made to happen in it, and what it leaves
behind is looked for in /proc from outside.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import KernelManager

from arroyo_nb.engine.folders import process_start

START_S = 240.0
"""The longest that Spark may take to start on a busy machine."""

# An interrupt that meets IPython between two instructions of the Event that wakes its
# history's thread leaves the Event locked: each later cell waits for it, for ever. It
# is met once in some ten thousand interrupts, also where no extension is loaded.
NO_HISTORY = "--HistoryManager.enabled=False"

# A busy machine may take minutes where nobody looks.
LOAD = "%load_ext arroyo_nb\n%config ArroyoMagics.headless_for = '10m'"
SESSION = """
from arroyo_nb.extension import _LOADED
session = next(iter(_LOADED.values())).magics.session
"""
"""What the tests of a kernel call its session."""


@dataclass
class Reply:
    """What a cell did.

    Attributes
    ----------
    status
        ``ok`` or ``error``; ``lost`` when the interrupt hit the kernel's own code
        beside the cell, which then gives no reply.
    text
        What it printed and showed as plain text.
    printed
        What it printed: a run of an earlier cell may show something meanwhile.
    error
        Name of the exception.
    traceback
        What a notebook shows of it.
    shown
        The MIME bundles of its outputs, in order; updates after what they replace.
    took_s
        From the request, or from the signal that interrupted it, to the end.
    """

    status: str
    text: str = ""
    printed: str = ""
    error: str = ""
    traceback: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    took_s: float = 0.0


class Kernel:
    """A kernel process and its client; ends with the test.

    Parameters
    ----------
    folder
        Its working folder.
    environment
        Further variables.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        settings = {
            "ARROYO_NB_ARCHIVE": "off",
            "ARROYO_NB_HEADLESS": "1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(
            extra_arguments=[NO_HISTORY],
            cwd=str(folder),
            env=os.environ | settings | environment,
        )
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return int(self.manager.provisioner.pid)  # type: ignore[union-attr]

    def run(self, code: str, within_s: float = START_S) -> Reply:
        """Execute a cell that is to succeed."""
        reply = self.execute(code, within_s)
        assert reply.status == "ok", reply.traceback
        return reply

    def execute(self, code: str, within_s: float = START_S) -> Reply:
        """Execute a cell and wait for what it did."""
        return self.result(self.send(code), within_s)

    def send(self, code: str) -> str:
        """Ask for a cell to be executed; gives the request's id."""
        return str(self.client.execute(code, allow_stdin=False))

    def interrupt(self) -> float:
        """What the square button does; gives the moment."""
        moment = time.monotonic()
        os.kill(self.pid, signal.SIGINT)
        return moment

    def result(
        self, request: str, within_s: float = START_S, since: float | None = None
    ) -> Reply:
        """Wait for the reply to a request and collect its outputs."""
        deadline = time.monotonic() + within_s
        since = time.monotonic() if since is None else since
        result = Reply("lost")
        texts = []
        for message in self._outputs(request, deadline):
            match message["msg_type"]:
                case "stream":
                    texts.append(message["content"]["text"])
                    result.printed += texts[-1]
                case "display_data" | "execute_result" | "update_display_data":
                    data = message["content"]["data"]
                    result.shown.append(data)
                    texts.append(data.get("text/plain", ""))
        result.text = "\n".join(texts)
        result.took_s = time.monotonic() - since
        with suppress(Empty):
            content = self._reply(request, time.monotonic() + 1)["content"]
            result.status = content["status"]
            result.error = content.get("ename", "")
            result.traceback = "\n".join(content.get("traceback", ()))
        return result

    def value(self, expression: str, within_s: float = START_S) -> Any:
        """A literal that an expression is worth in the kernel."""
        import ast

        printed = self.run(f"print(repr({expression}))", within_s).printed
        return ast.literal_eval(printed.strip().splitlines()[-1])

    def family(self) -> dict[int, int | None]:
        """The processes of the kernel and of its JVM, by pid with their start."""
        jvm = self.value("session.engine.pid")
        return started(descendants([self.pid, jvm]))

    def printed(self, request: str, lines: int, within_s: float = START_S) -> str:
        """What a cell prints, also after its end, until there are so many lines."""
        deadline = time.monotonic() + within_s
        text = ""
        while text.count("\n") < lines:
            left = max(0.0, deadline - time.monotonic())
            message = self.client.get_iopub_msg(timeout=left)
            is_ours = message["parent_header"].get("msg_id") == request
            if is_ours and message["msg_type"] == "stream":
                text += message["content"]["text"]
        return text

    def close(self) -> None:
        """End it the hard way, and the sockets to it."""
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def begun(self, request: str, within_s: float = 30.0) -> None:
        """Wait until a cell is being executed: from then on it can be interrupted."""
        deadline = time.monotonic() + within_s
        for message in self._outputs(request, deadline):
            if message["msg_type"] == "execute_input":
                return

    def _reply(self, request: str, deadline: float) -> dict[str, Any]:
        while True:
            left = max(0.0, deadline - time.monotonic())
            message: dict[str, Any] = self.client.get_shell_msg(timeout=left)
            if message["parent_header"].get("msg_id") == request:
                return message

    def _outputs(self, request: str, deadline: float) -> Iterable[dict[str, Any]]:
        while True:
            left = max(0.0, deadline - time.monotonic())
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=left)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["content"].get("execution_state") == "idle":
                return
            yield message


def in_folder(start: Callable[..., Kernel], name: str) -> Kernel:
    """A kernel whose notebook, and whose home, lie in a folder of some name."""
    kernel = start(name)
    folder = kernel.value("__import__('os').getcwd()")
    setup = "import os; os.environ |= {'HOME': %r, 'JPY_SESSION_NAME': %r}"
    kernel.run(setup % (folder, f"{folder}/lesson 1.ipynb"))
    kernel.run(LOAD)
    kernel.run(SESSION)
    return kernel


def wait_until(condition: Callable[[], object], what: str, within_s: float) -> float:
    """Wait for a condition; gives how long it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < within_s, f"not within {within_s} s: {what}"
        time.sleep(0.01)
    return time.monotonic() - begun


def descendants(roots: Iterable[int]) -> list[int]:
    """The processes, and all that they have started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found = list(dict.fromkeys(roots))
    for member in found:
        found += [c for c, p in parents.items() if p == member and c not in found]
    return found


def started(pids: Iterable[int]) -> dict[int, int | None]:
    """When each process started: a pid alone may be reused."""
    return {pid: process_start(pid) for pid in pids}


def alive(members: dict[int, int | None]) -> list[int]:
    """Those of the processes that still run."""
    return [pid for pid, start in members.items() if process_start(pid) == start]
