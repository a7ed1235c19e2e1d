"""What is left of a process that SIGTERM ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WITHIN_S = 60
SCRIPT = """
import threading
from arroyo_nb.engine.folders import make_work_folder
from arroyo_nb.engine.sigterm import close_at_sigterm
folders = [make_work_folder(), make_work_folder()]
(folders[0] / "file").touch()
{setup}
print(*folders, flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        ("close_at_sigterm(lambda why: print(why, flush=True))", "ended by SIGTERM\n"),
        # what hangs is not waited for
        ("close_at_sigterm(lambda _: threading.Event().wait())", ""),
        (
            "close_at_sigterm(lambda _: print('a', flush=True))\n"
            "close_at_sigterm(lambda _: print('b', flush=True))",
            "a\nb\n",
        ),
        # as %unload_ext and %load_ext do
        (
            "forget = close_at_sigterm(lambda _: print('old', flush=True))\n"
            "forget()\n"
            "close_at_sigterm(lambda _: print('new', flush=True))",
            "new\n",
        ),
    ],
    ids=["closed", "hangs", "two", "again"],
)
def test_sigterm_closes_and_removes_the_work_folders(
    tmp_path: Path, setup: str, says: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(setup=setup)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        made = [Path(name) for name in process.stdout.readline().split()]
        assert len(made) == 2
        assert all(folder.is_dir() for folder in made)
        process.send_signal(signal.SIGTERM)
        assert sorted(process.stdout.read()) == sorted(says)
        assert process.wait(WITHIN_S) == -signal.SIGTERM
    assert not any(folder.exists() for folder in made)
