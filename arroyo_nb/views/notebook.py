"""Where panels are displayed in a kernel, and whether somebody can look at them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TextIO, TypeAlias

from IPython.core.getipython import get_ipython
from IPython.display import display

from arroyo_nb.views.formatting import plain
from arroyo_nb.views.live import Data, Screen, Slot

HEADLESS = "ARROYO_NB_HEADLESS"
"""Environment variable: 1 waits and draws still pictures, 0 shows live panels."""


LINE_CHARS = 400
"""A longer line of progress is cut."""

Shell: TypeAlias = Any
"""IPython's shell; a kernel's has ``kernel`` and ``get_parent`` besides."""


def is_interactive(shell: Shell) -> bool:
    """Whether a person looks at the cell that is being executed.

    A front end with a person says in each request that it can be asked for input;
    nbclient, and so nbconvert, papermill and nbmake, say that they cannot. A shell
    without a kernel has no page to draw on.
    """
    if (forced := os.environ.get(HEADLESS, "")) != "":
        return forced == "0"
    if getattr(shell, "kernel", None) is None:
        return False
    request: Any = shell.get_parent()
    return bool(request.get("content", {}).get("allow_stdin", False))


def publish(data: Data) -> Any:
    """A new output below the cell that is being executed; returns its handle. Without
    IPython it is text on standard output."""
    if get_ipython() is None:
        return TextOutput(data, sys.stdout)
    return display(  # type: ignore[no-untyped-call]
        dict(data), raw=True, display_id=True
    )


class TextOutput:
    """An output where there is no cell: each state of it is printed."""

    def __init__(self, data: Data, stream: TextIO) -> None:
        self._stream = stream
        self.update(data)

    def update(self, data: Data, *, raw: bool = True) -> None:  # noqa: ARG002
        """Print its text, if it has any."""
        if text := str(data.get("text/plain", "")):
            self._stream.write(f"{text}\n")
            self._stream.flush()


class NotebookSlot:
    """An output of a cell."""

    def __init__(self, data: Data) -> None:
        self._handle = publish(data)

    def update(self, data: Data) -> None:
        """Replace what it shows; the front end finds it by its display id."""
        self._handle.update(dict(data), raw=True)


class ProgressOutput:
    """One output that says how far something is."""

    def __init__(self) -> None:
        self._slot: NotebookSlot | TextOutput | None = None

    def tell(self, text: str) -> None:
        """Show a line in place of the one before."""
        self.finish({"text/plain": plain(text, LINE_CHARS)})

    def finish(self, data: Data) -> None:
        """Show the outcome in place of the last line."""
        if self._slot is None:
            # Without IPython standard output has results only.
            is_text = get_ipython() is None
            self._slot = TextOutput(data, sys.stderr) if is_text else NotebookSlot(data)
        else:
            self._slot.update(data)

    def give_up(self, text: str) -> None:
        """Show a line in place of the last one, where there is one."""
        if self._slot is not None:
            self.tell(text)


class NotebookStage:
    """The cells of an IPython kernel.

    Parameters
    ----------
    shell
        The kernel's shell; told apart by its events is whether it is busy.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._busy = True
        shell.events.register("pre_execute", self._begin)
        shell.events.register("post_execute", self._end)

    @property
    def busy(self) -> bool:
        """Whether a cell is being executed: messages of a page then wait."""
        return self._busy

    def show(self, data: Data) -> Slot:
        """A new output below the cell that is being executed."""
        return NotebookSlot(data)

    def screen(self, marker: str, pressed: Callable[[str], None]) -> Screen:
        """A new widget; of ipywidgets alone where anywidget is missing."""
        if find_spec("anywidget") is not None:
            from arroyo_nb.views.widget import PanelWidget

            return PanelWidget(marker, pressed)
        from arroyo_nb.views.core_widget import CorePanel

        return CorePanel(marker, pressed)

    def close(self) -> None:
        """Listen to the shell no more."""
        self._shell.events.unregister("pre_execute", self._begin)
        self._shell.events.unregister("post_execute", self._end)

    def _begin(self) -> None:
        self._busy = True

    def _end(self) -> None:
        self._busy = False
