"""Which worker of xdist runs which tests: those that share something, one after the
other in one worker, so that it is there once."""

from __future__ import annotations

from xdist.scheduler.loadscope import LoadScopeScheduling

TOGETHER = {
    "tests/browser/test_editor": "editor",
    "tests/browser/test_side_panel": "editor",
    "tests/browser/": "browser",
    "tests/kernel/test_cell": "cells",
    "tests/udfs/rust/": "rust",
}
"""Tests that share a JupyterLab and a browser, a kernel, and what Rust's compiler has
made: of two that want the same crates one would wait. The first that begins a file's
path counts. Those of the browser are two: one after the other, they would take longest
of all. The tests of Kafka share a broker that is all workers'
(tests/kafka/shared_broker.py)."""


class SharedServers(LoadScopeScheduling):
    """Work units are those, and the other files one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        units = (unit for place, unit in TOGETHER.items() if file.startswith(place))
        return next(units, file)
