"""An interrupt is heard while the rows of a test are written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from arroyo_nb.row_tables import define
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.session import Session


def test_an_interrupt_ends_the_writing_of_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = []

    class Writer(define.RecordWriter):
        def append(self, *record: object) -> None:
            super().append(*record)
            written.append(self.path)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(define, "RecordWriter", Writer)
    rows = "at | n\n10:00:00 | 1\n10:00:01 | 2\n10:00:02 | 3"
    test = {"given": {"t": rows}, "when": "SELECT n FROM t", "expect": {"table": []}}
    with Session() as session, defer_interrupts(), pytest.raises(KeyboardInterrupt):
        session.test(**test)
    assert len(written) == 1
    assert not written[0].exists()
