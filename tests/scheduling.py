"""Which worker of xdist runs which tests: those that share something, one after the
other in one worker, so that it is there once."""

from __future__ import annotations

from xdist.scheduler.loadscope import LoadScopeScheduling

TOGETHER = ("tests/browser/", "tests/udfs/rust/")
"""Folders whose tests share a JupyterLab and a browser, and what Rust's compiler has
made: of two that want the same crates one would wait. The tests of Kafka share a broker
that is all workers' (tests/kafka/shared_broker.py)."""


class SharedServers(LoadScopeScheduling):
    """Work units are those folders, and the other files one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((name for name in TOGETHER if file.startswith(name)), file)
