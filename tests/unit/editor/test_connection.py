"""The connection to a page: what it answers, what it drops, what it costs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.editor import questions
from arroyo_nb.editor.cell_text import LONGEST
from arroyo_nb.editor.connection import TARGET, EditorConnection
from arroyo_nb.editor.utf16 import Utf16Places
from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.session import Session

Eventually = Callable[..., None]


class Comm:
    """A comm whose messages are kept."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.receive: Callable[[dict[str, Any]], None] = lambda _: None

    def on_msg(self, callback: Callable[[dict[str, Any]], None]) -> None:
        self.receive = callback

    def send(self, data: dict[str, Any]) -> None:
        # As a kernel does before it sends.
        json.dumps(data, ensure_ascii=False).encode()
        self.sent.append(data)


class Manager:
    """A kernel's list of comms."""

    def __init__(self) -> None:
        self.comms: list[Any] = []

    def register_comm(self, comm: Any) -> None:
        self.comms.append(comm)

    def unregister_comm(self, comm: Any) -> None:
        self.comms.remove(comm)


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


@pytest.fixture
def comm(monkeypatch: pytest.MonkeyPatch) -> Comm:
    made = Comm()

    def create_comm(target_name: str, primary: bool) -> Comm:
        # A page that does not know the target would complain of the announcement.
        assert (target_name, primary) == (TARGET, False)
        return made

    monkeypatch.setattr("comm.create_comm", create_comm)
    return made


@pytest.fixture
def opened(session: Session, comm: Comm) -> Iterator[EditorConnection]:
    connection = EditorConnection(session, lambda: False, {})
    connection.open(SimpleNamespace(comm_manager=Manager()))
    yield connection
    connection.close()


def ask(comm: Comm, data: dict[str, Any], page: str = "page") -> None:
    comm.receive({"content": {"data": data}, "header": {"session": page}})


def test_a_question_has_its_answer(
    opened: EditorConnection, comm: Comm, eventually: Eventually
) -> None:
    text = "%%arroyo\nSELECT '🛫', x FROM nowhere"
    ask(comm, {"id": 7, "ask": "check", "text": text, "at": None})
    eventually(lambda: comm.sent)
    (reply,) = comm.sent
    assert reply["id"] == 7
    (mark,) = (m for m in reply["answer"]["marks"] if "nowhere" in m["message"])
    units = text.encode("utf-16-le")[2 * mark["from"] : 2 * mark["to"]]
    assert units.decode("utf-16-le") == "nowhere"


def test_another_cell_has_no_problems(opened: EditorConnection) -> None:
    for text in ("import os", "%%arroyo_like\nSELECT", ""):
        answer = opened.answer({"ask": "check", "text": text})
        assert answer == {"answer": {"marks": [], "result": []}}
        assert opened.answer({"ask": "hover", "text": text}) == {"answer": None}


def test_an_unknown_question_is_an_error(opened: EditorConnection) -> None:
    assert "'gossip'" in opened.answer({"ask": "gossip"})["error"]
    assert "None" in opened.answer({})["error"]


def test_what_fails_is_told_and_the_next_one_is_answered(
    opened: EditorConnection,
    comm: Comm,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    def refuse(question: questions.Question) -> None:
        raise SyntaxProblem("it has no end", hint="write one")

    def fail(question: questions.Question) -> None:
        raise ZeroDivisionError("by zero")

    asked = {"refuse": refuse, "fail": fail, "half": lambda _: {"text": "\ud83d"}}
    monkeypatch.setattr(questions, "QUESTIONS", asked)
    assert opened.answer({"ask": "refuse"}) == {"error": "it has no end\nwrite one"}
    assert opened.answer({"ask": "fail"}) == {"error": "ZeroDivisionError: by zero"}
    for number, kind in enumerate(("half", "refuse")):
        ask(comm, {"id": number, "ask": kind})
        eventually(lambda number=number: len(comm.sent) > number)
    assert [(sent["id"], "error" in sent) for sent in comm.sent] == [
        (0, True),
        (1, True),
    ]


def test_only_the_newest_question_of_a_kind_and_page_is_answered(
    opened: EditorConnection,
    comm: Comm,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(question: questions.Question) -> dict[str, Any]:
        begun.set()
        assert go.wait(20)
        return {"text": question.text}

    asked = {"slow": slow, "quick": lambda q: {"text": q.text}}
    monkeypatch.setattr(questions, "QUESTIONS", asked)
    ask(comm, {"id": 0, "ask": "slow", "text": "first"})
    assert begun.wait(20)
    # The thread is at the first one: these wait.
    for number in range(1, 50):
        ask(comm, {"id": number, "ask": "slow", "text": str(number)})
    ask(comm, {"id": 50, "ask": "quick", "text": "quick"})
    ask(comm, {"id": 51, "ask": "slow", "text": "other"}, page="another")
    go.set()
    eventually(lambda: len(comm.sent) == 4)
    texts = [sent["answer"]["text"] for sent in comm.sent]
    assert texts == ["first", "49", "quick", "other"]


def test_nothing_is_done_before_a_page_asks(
    session: Session, comm: Comm, opened: EditorConnection
) -> None:
    assert comm.sent == []
    assert "arroyo_nb editor" not in [t.name for t in threading.enumerate()]


def test_closing_takes_the_comm_away_and_ends_the_thread(
    session: Session, comm: Comm, eventually: Eventually
) -> None:
    manager = Manager()
    connection = EditorConnection(session, lambda: False, {})
    connection.open(SimpleNamespace(comm_manager=manager))
    assert manager.comms == [comm]
    ask(comm, {"id": 1, "ask": "check", "text": "%%arroyo\nSELECT 1"})
    eventually(lambda: comm.sent)
    connection.close()
    assert manager.comms == []
    running = [t for t in threading.enumerate() if t.name == "arroyo_nb editor"]
    eventually(lambda: not any(thread.is_alive() for thread in running))
    ask(comm, {"id": 2, "ask": "check", "text": "%%arroyo\nSELECT 1"})
    assert [told.get("id") for told in comm.sent] == [1, None]
    assert comm.sent[-1] == {"closed": True}
    connection.close()


def test_a_terminal_has_no_connection(session: Session) -> None:
    for kernel in (None, SimpleNamespace()):
        connection = EditorConnection(session, lambda: False, {})
        connection.open(kernel)
        connection.close()


@pytest.mark.parametrize(
    "text", ["", "plain", "a\tb\n", "é", "🛫", "a🛫b🛬", "👩‍👩‍👧 x", "\ud83d", "𝒳𝒴"]
)
def test_places_are_utf16_code_units(text: str) -> None:
    places = Utf16Places(text)
    for at in range(len(text) + 1):
        units = len(text[:at].encode("utf-16-le", "surrogatepass")) // 2
        assert places.to_units(at) == units
        assert places.to_characters(units) == at


def test_a_place_inside_a_pair_is_before_it() -> None:
    assert Utf16Places("a🛫b").to_characters(2) == 1


def test_a_place_outside_of_the_cell_is_its_edge(session: Session) -> None:
    for units, at in ((-5, 0), (2, 1), (99, 3), (None, 0)):
        assert questions.Question(session, "🛫ab", units).at == at


def test_an_answer_that_cannot_be_sent_is_not_the_last(
    opened: EditorConnection,
    comm: Comm,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    send = comm.send
    refused: list[Any] = []

    def refuse(data: dict[str, Any]) -> None:
        refused.append(data)
        raise RuntimeError("the socket is closed")

    monkeypatch.setattr(comm, "send", refuse)
    ask(comm, {"id": 1, "ask": "check", "text": ""})
    eventually(lambda: refused)
    monkeypatch.setattr(comm, "send", send)
    ask(comm, {"id": 2, "ask": "check", "text": ""})
    eventually(lambda: comm.sent)
    assert [sent["id"] for sent in comm.sent] == [2]


def test_a_cell_full_of_data_is_left_alone(opened: EditorConnection) -> None:
    text = "%%arroyo\nSELECT " + "x" * LONGEST
    empty = {"marks": [], "result": []}
    assert opened.answer({"ask": "check", "text": text}) == {"answer": empty}
    for kind in ("hover", "signature", "format"):
        message = {"ask": kind, "text": text, "at": len(text)}
        assert opened.answer(message) == {"answer": None}
