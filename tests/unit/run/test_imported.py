"""Modules that are imported while interrupts are looked at."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from arroyo_nb.run.interrupts import check_interrupts, defer_interrupts, imported

SLOW = """
import builtins
builtins.slow_module_gate.wait(30)
DONE = True
"""
BROKEN = "raise ImportError('a library is missing')"


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_module.py").write_text(SLOW)
    (tmp_path / "broken_module.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_module", raising=False)


def test_an_interrupt_ends_the_wait_and_not_the_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("builtins.slow_module_gate", gate, raising=False)

    def interrupt() -> None:
        while "slow_module" not in sys.modules:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt), defer_interrupts() as interrupts:
        imported("slow_module", interrupts=interrupts)
    assert not hasattr(sys.modules["slow_module"], "DONE")
    gate.set()
    import slow_module  # type: ignore[import-not-found]

    assert slow_module.DONE


def test_what_cannot_be_imported_is_told_by_who_imports_it() -> None:
    with defer_interrupts() as interrupts:
        imported("broken_module", interrupts=interrupts)
    with pytest.raises(ImportError, match="a library is missing"):
        import broken_module  # type: ignore[import-not-found]  # noqa: F401


def test_an_interrupt_before_an_inner_wait_is_heard_in_it() -> None:
    with defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        with defer_interrupts() as inner, pytest.raises(KeyboardInterrupt):
            inner.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_holds_no_interrupts_hears_those_that_are_held() -> None:
    check_interrupts()
    with defer_interrupts():
        check_interrupts()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check_interrupts()
