"""Make the class-data archive of the local broker.

How is told in :mod:`arroyo_nb.engine.make_archive`.

``python -m arroyo_nb.kafka.local.archive`` does it in the foreground and says how far
it is; ``--force`` makes it anew. A broker starts it in the background.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from arroyo_nb.engine import make_archive as making
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.jars import say_nothing
from arroyo_nb.engine.java import find_java
from arroyo_nb.engine.program import go_on
from arroyo_nb.kafka.local.process import BrokerPlace, Kit, kit
from arroyo_nb.kafka.local.settings import free_ports


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the archive if it is missing; the exit status is 0 if it is there now."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        parts = kit(find_java(), tell=say_nothing, check=go_on)
    except EngineProblem as problem:
        making.say(f"no archive: {problem}")
        return 1
    return making.make(parts.archive, partial(_ArchivedBroker, parts), given)


class _ArchivedBroker:
    """A broker that starts and ends: most of what it loads it loads then."""

    def __init__(self, parts: Kit, flags: Sequence[str], work: Path) -> None:
        making.say(f"starting Java {parts.java.version} to record what Kafka loads")
        self._place = BrokerPlace(work, free_ports())
        self._place.fill(parts, {}, go_on)
        self._program = self._place.launch(parts, flags)
        self.pid = self._program.pid
        self.close = self._program.close
        self.kill = self._program.kill
        self.problem = self._place.problem

    def perform(self, say: Callable[[str], None]) -> None:
        """Wait until it serves."""
        say("starting Kafka")
        self._place.wait_until_up(self._program, go_on)


if __name__ == "__main__":
    sys.exit(main())
