"""Why a run has ended, in its own words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from shells import new_shell

from arroyo_nb.cli.run_commands import Terminated
from arroyo_nb.engine.sigterm import BY_SIGTERM
from arroyo_nb.magics import ArroyoMagics
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.runs import Runs


class Going:
    """A run that goes on until it is stopped."""

    def __init__(self, name: str = "r", interrupt: BaseException | None = None) -> None:
        self.name, self.reasons = name, list[str]()
        self.state, self._interrupt = RunState.RUNNING, interrupt

    def start(self) -> Going:
        return self

    def stop(self, reason: str) -> Going:
        self.reasons.append(reason)
        return self

    def discard(self, reason: str = "replaced") -> Going:
        return self.stop(reason)

    def wait_quietly(self, _: float) -> bool:
        if self._interrupt is not None and not self.reasons:
            raise self._interrupt
        return True

    def detach(self) -> None:
        """Nothing is attached."""


def test_each_end_has_its_reason() -> None:
    runs = Runs()
    replaced: Any = runs.start(Going())  # type: ignore[arg-type]
    cleared: Any = runs.start(Going())  # type: ignore[arg-type]
    runs.clear(everything=True)
    closed: Any = runs.start(Going())  # type: ignore[arg-type]
    runs.close(reason=BY_SIGTERM)
    found = [each.reasons for each in (replaced, cleared, closed)]
    assert found == [["replaced"], ["cleared"], ["ended by SIGTERM"]]


@pytest.mark.parametrize(
    ("interrupt", "reason"),
    [
        (KeyboardInterrupt(), "stopped by interrupt"),
        (Terminated(BY_SIGTERM), "ended by SIGTERM"),
    ],
)
def test_a_script_says_which_signal_ended_it(
    interrupt: BaseException, reason: str
) -> None:
    run = Going(interrupt=interrupt)
    with pytest.raises(type(interrupt)):
        Runs().run_to_end(run)  # type: ignore[arg-type]
    assert run.reasons == [reason]


def test_the_shell_says_why_its_session_is_closed() -> None:
    said: list[str] = []
    with new_shell() as shell:
        session: Any = SimpleNamespace(close=said.append, functions=())
        magics = ArroyoMagics(shell, session)
        magics.close(BY_SIGTERM)
        magics.close()
    assert said == [BY_SIGTERM, "the extension was unloaded"]
