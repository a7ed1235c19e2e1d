"""Make the class-data archive of Spark's JVM, see :mod:`arroyo_nb.engine.make_archive`.

``python -m arroyo_nb.engine.archive`` does it in the foreground and says how far it
is; ``--force`` makes it anew. The engine starts it in the background.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from arroyo_nb.engine import gateway, launch, warm
from arroyo_nb.engine import make_archive as making
from arroyo_nb.engine.class_data import archive_for
from arroyo_nb.engine.config import static_settings
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.java import Java, find_java


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the archive if it is missing; the exit status is 0 if it is there now."""
    java = find_java()
    given = sys.argv[1:] if arguments is None else arguments
    return making.make(archive_for(java), partial(_ArchivedStream, java), given)


class _ArchivedStream:
    """Spark, and a small stream on it."""

    def __init__(self, java: Java, flags: Sequence[str], work: Path) -> None:
        making.say(f"starting Java {java.version} to record which classes Spark loads")
        self._work = work
        self._jvm = launch.start(java, work, static_settings(work), archive_flags=flags)
        self.pid = self._jvm.pid
        self.close = self._jvm.close
        self.kill = self._jvm.kill
        self.problem = self._jvm.problem

    def perform(self, say: Callable[[str], None]) -> None:
        """Start a session and run it."""
        failed: list[BaseException] = []

        def run() -> None:
            try:
                gateway.import_pyspark()
                self._jvm.wait_until_up()
                say("starting Spark")
                session = gateway.connect(self._jvm)
                say("running a small stream")
                for _ in warm.more_steps(session, self._work / "warm"):
                    pass
            except BaseException as error:
                failed.append(error)

        # On the main thread PySpark would take over SIGINT.
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
        if failed:
            why = _without_frames(str(failed[0]))
            raise EngineProblem(f"the sample stream failed: {why}") from failed[0]


def _without_frames(text: str) -> str:
    """What an error of Java's says, as a line without its stack trace."""
    lines = takewhile(lambda line: not line.startswith("\tat "), text.splitlines())
    return " ".join(line.removeprefix(": ") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
