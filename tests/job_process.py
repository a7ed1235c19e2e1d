"""A job in a process of its own, as tests start and stop it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class JobProcess:
    """A process that is a job."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []

    def event(self, name: str) -> dict[str, Any]:
        """Wait for the next event of that name."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            assert line.startswith("{"), line + self.process.stderr.read()
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no {name} in {self.events}")


@contextmanager
def job_process(
    spec: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[JobProcess]:
    """``arroyo-nb run`` of a spec, which is killed at the end."""
    command = [sys.executable, "-m", "arroyo_nb.cli", "run", str(spec)]
    with subprocess.Popen(
        [*command, "--log", "json", *arguments],
        env={**os.environ, **(env or {})},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield JobProcess(process)
        finally:
            process.kill()
