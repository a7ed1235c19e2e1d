"""The connection between the cells' editor in a page and the kernel.

The kernel has one comm, which a page finds by its target's name; nothing is sent before
a page asks. Questions are answered on a thread of their own, so that they never block a
cell, and of each page only the newest question of a kind: what a person has already
typed over needs no answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError

if TYPE_CHECKING:
    from arroyo_nb.session import Session

_LOG = logging.getLogger(__name__)

TARGET = "arroyo_nb.editor"


class EditorConnection:
    """Answers the pages that show a kernel's notebook.

    Parameters
    ----------
    session
        The session of the cells.
    strict
        Tells whether cells refuse what differs from Arroyo.
    variables
        The notebook's variables.
    """

    def __init__(
        self, session: Session, strict: Callable[[], bool], variables: Mapping[str, Any]
    ) -> None:
        self._session = session
        self._strict = strict
        self._variables = variables
        self._comm: Any = None
        self._manager: Any = None
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str], dict[str, Any]] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def open(self, kernel: Any) -> None:
        """Make the comm known to the kernel, without a word to any page.

        Parameters
        ----------
        kernel
            The kernel of a notebook; None, as in a terminal: nothing is done.
        """
        self._manager = getattr(kernel, "comm_manager", None)
        if self._manager is None:
            return
        from comm import create_comm

        # Not primary: such a comm is not announced to the pages. Many of them would
        # not know its target and complain.
        self._comm = create_comm(target_name=TARGET, primary=False)
        self._comm.on_msg(self._receive)
        self._manager.register_comm(self._comm)

    def close(self) -> None:
        """Take the comm away and end the thread.

        A page that has asked is told, so that it looks for the comm of the next
        ``%load_ext`` and does not wait for an answer of this one.
        """
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify()
        if self._comm is not None:
            if self._thread is not None:
                self._comm.send({"closed": True})
            self._manager.unregister_comm(self._comm)
            self._comm = None

    def _receive(self, message: dict[str, Any]) -> None:
        question = message["content"]["data"]
        page = str(message["header"].get("session"))
        with self._changed:
            if self._closed:
                return
            # The older question of this kind is gone.
            self._waiting[page, str(question.get("ask"))] = question
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._answer_all, name="arroyo_nb editor", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def _answer_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                question = self._waiting.pop(next(iter(self._waiting)))
                comm = self._comm
            reply = {"id": question.get("id"), **self.answer(question)}
            try:
                _send(comm, reply)
            except Exception:
                # The next question comes to this thread too.
                _LOG.exception("an answer could not be sent")

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one message: ``{"answer": ...}`` or ``{"error": ...}``."""
        from arroyo_nb.editor.background_reads import READS
        from arroyo_nb.editor.questions import QUESTIONS, Question
        from arroyo_nb.outside_reads import reading_later

        ask = QUESTIONS.get(str(message.get("ask")))
        if ask is None:
            return {"error": f"unknown question: {message.get('ask')!r}"}
        try:
            question = Question(
                self._session,
                str(message.get("text") or ""),
                message.get("at"),
                self._strict(),
                self._variables,
            )
            with reading_later(READS):
                return {"answer": ask(question)}
        except ArroyoError as problem:
            return {"error": "\n".join(filter(None, (problem.message, problem.hint)))}
        except Exception as bug:
            # The thread answers the questions of all cells: a bug in one of them is
            # told to who asked it.
            return {"error": f"{type(bug).__name__}: {bug}"}


def _send(comm: Any, reply: dict[str, Any]) -> None:
    try:
        comm.send(reply)
    except (UnicodeEncodeError, ValueError):
        # Half a surrogate pair of the cell, quoted by the answer.
        problem = "the cell has half of a character (a lone surrogate): remove it"
        comm.send({"id": reply["id"], "error": problem})
