"""How far a what-if is, and that nothing of it stays beside the outcome."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from arroyo_nb import whatif_commands
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.views import notebook
from arroyo_nb.whatif.pinned_tape import PinnedTape
from arroyo_nb.whatif.what_if import WhatIfTools, _run_to_end

SECOND = timedelta(seconds=1)


class FakeRun:
    """A run that ends after some looks, and then has read all its batches."""

    def __init__(self, looks):
        self.looks = looks
        reader = object.__new__(PinnedTape)
        reader.chunk_count = 11
        self.sources = SimpleNamespace(readers=(reader,))
        self.outputs = [SimpleNamespace(observation=SimpleNamespace(next_batch=10))]

    def start(self):
        pass

    def wait(self, timeout):
        assert timeout
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize(
    ("delays", "looks", "told"),
    [
        (1, 0, ["1 delay, batch 11 of 11"]),
        (1, 3, ["1 delay, batch 10 of 11", "1 delay, batch 11 of 11"]),
        (2, 1, ["2 delays, batch 10 of 11", "2 delays, batch 11 of 11"]),
    ],
)
def test_the_last_line_has_all_batches(delays, looks, told):
    said = []
    tools = WhatIfTools(None, None, said.append, lambda: None, None)
    _run_to_end(FakeRun(looks), "r1", [SECOND] * delays, tools)
    assert said == [f"what-if of r1: {line}" for line in told]


@pytest.fixture
def shown(monkeypatch):
    """What the outputs of the cell show."""
    shown = []

    class FakeSlot:
        def __init__(self, data):
            shown.append(dict(data))

        def update(self, data):
            shown[-1] = dict(data)

    monkeypatch.setattr(notebook, "NotebookSlot", FakeSlot)
    # Without a shell it would be text on standard error.
    monkeypatch.setattr(notebook, "get_ipython", object)
    return shown


def test_the_outcome_takes_the_place_of_the_progress(shown, monkeypatch):
    def whatif(*_, tell, **__):
        tell("batch 10 of 11")
        tell("batch 11 of 11")
        return "the table"

    monkeypatch.setattr(whatif_commands, "bundle", lambda found: {"text/plain": found})
    whatif_commands.whatif(SimpleNamespace(whatif=whatif), {}, "r1")
    assert shown == [{"text/plain": "the table"}]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), RunProblem("no rows")])
def test_where_there_is_no_outcome_the_progress_says_so(shown, problem):
    """An output without content is an error of some pages."""

    def whatif(*_, tell, **__):
        tell("batch 10 of 11")
        raise problem

    with pytest.raises((Interrupted, RunProblem)):
        whatif_commands.whatif(SimpleNamespace(whatif=whatif), {}, "r1")
    said = "the what-if of r1 gave no result"
    assert [each["text/plain"] for each in shown] == [said]
