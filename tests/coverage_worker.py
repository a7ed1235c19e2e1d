"""A plugin of coverage for Spark's workers: they are killed, so what they have seen is
saved while they run."""

from __future__ import annotations

import sys
import threading

SAVED_EVERY_S = 3.0


def coverage_init(registry: object, options: object) -> None:
    if any("pyspark" in argument for argument in sys.orig_argv):
        threading.Thread(target=_save_often, daemon=True).start()


def _save_often() -> None:
    from coverage import Coverage

    never = threading.Event()
    while (current := Coverage.current()) is None:
        never.wait(0.01)
    current.switch_context("worker")
    while not never.wait(SAVED_EVERY_S):
        current.save()
