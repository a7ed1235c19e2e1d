"""What ``%load_ext arroyo_nb`` gives a shell, and what is taken away again.

Loading imports neither a parser nor Spark nor a widget.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from IPython.core.extensions import ExtensionManager
from IPython.core.getipython import get_ipython

from arroyo_nb.cell_runs import say
from arroyo_nb.editor.connection import EditorConnection
from arroyo_nb.engine.sigterm import close_at_sigterm
from arroyo_nb.errors import RunProblem
from arroyo_nb.magics import ArroyoMagics
from arroyo_nb.session import Session

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Loaded:
    """What a shell was given, to be taken away again."""

    magics: ArroyoMagics
    completes: Callable[..., Any]
    editor: EditorConnection
    forget_close: Callable[[], None]
    forget_cells: Callable[[], None]


_LOADED: dict[int, Loaded] = {}
"""By the id of a shell."""


def active_session() -> Session:
    """The session of this shell's cells.

    Raises
    ------
    RunProblem
        When it has none.
    """
    loaded = _LOADED.get(id(get_ipython()))
    if loaded is None:
        raise RunProblem(
            "there are no %%arroyo cells here, and so no session of theirs",
            hint="%load_ext arroyo_nb first, or make a Session",
        )
    return loaded.magics.session


ARROW_TABLE = "pyarrow.lib.Table"
"""Named, not imported: a notebook that shows none does not load PyArrow for it."""


def _arrow_page(table: pa.Table) -> str:
    from arroyo_nb.views.listing import arrow_page

    return arrow_page(table)


def load(shell: Any, session: Session | None = None) -> None:
    """Give a shell the magics, completion, and an engine that warms up.

    Parameters
    ----------
    shell
        IPython's shell; loading twice is harmless.
    session
        What the cells work on; None: a new one.
    """
    from arroyo_nb.editor import matcher
    from arroyo_nb.editor.kernel_requests import answer_for_cells

    if id(shell) in _LOADED:
        return
    session = session or Session(tell=say)
    magics = ArroyoMagics(shell, session)
    editor = EditorConnection(session, lambda: magics.strict, shell.user_ns)
    editor.open(getattr(shell, "kernel", None))
    closes, answers = close_at_sigterm(magics.close), answer_for_cells(shell, session)
    loaded = Loaded(magics, matcher(session), editor, closes, answers)
    _LOADED[id(shell)] = loaded
    shell.register_magics(loaded.magics)
    shell.Completer.custom_matchers.append(loaded.completes)
    shell.input_transformers_cleanup.append(_with_body)
    # What run.late(), run.bad() and the others give, as the last line of a cell.
    pages = shell.display_formatter.formatters["text/html"]
    if ARROW_TABLE not in pages:
        pages.for_type_by_name(*ARROW_TABLE.rsplit(".", 1), _arrow_page)
    session.warm_up()


def unload(shell: Any) -> None:
    """Take away what :func:`load` gave; runs and the engine end. In a reload all of it
    stays, with the tables and the local broker."""
    if _is_reload():
        return
    loaded = _LOADED.pop(id(shell), None)
    if loaded is None:
        return
    loaded.editor.close()
    shell.Completer.custom_matchers.remove(loaded.completes)
    loaded.forget_cells()
    shell.input_transformers_cleanup.remove(_with_body)
    pages = shell.display_formatter.formatters["text/html"]
    # Another extension may have registered its own since, which stays.
    if ARROW_TABLE in pages and pages.lookup_by_type(ARROW_TABLE) is _arrow_page:
        pages.pop(ARROW_TABLE)
    for kind in ("line", "cell"):
        for name in ("arroyo", "arroyo_udf", "arroyo_rows", "arroyo_test"):
            shell.magics_manager.magics[kind].pop(name, None)
    try:
        loaded.magics.close()
    finally:
        loaded.forget_close()


def _is_reload() -> bool:
    """Whether ``%reload_ext`` asks: IPython does not say it, so the stack is read."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code is ExtensionManager.reload_extension.__code__:
            return True
        frame = frame.f_back
    return False


def _with_body(lines: list[str]) -> list[str]:
    """An empty body where there is none: IPython refuses such a cell unasked, and
    ``%%arroyo --help`` needs none."""
    alone = len(lines) == 1 and lines[0].startswith("%%arroyo")
    return [*lines, "\n"] if alone and not lines[0].rstrip().endswith("?") else lines
