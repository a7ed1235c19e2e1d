"""Run pip, and say every few seconds what it does: ``install.py ARGUMENTS OF PIP``.

pip by itself prints a line for each of a hundred packages, and none while it unpacks
them; ``--quiet`` prints nothing for minutes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from threading import Thread

EVERY_S = 5.0
SHOWN_CHARS = 60
TAIL_LINES = 20
UNPACKING = "Installing collected packages: "


def install(command: list[str], *, every_s: float = EVERY_S) -> int:
    """Run the command; of one that fails print the end of its output.

    Returns
    -------
    int
        Its exit status.
    """
    begun_s = time.monotonic()
    output: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        reader = Thread(target=_read, args=(pip, output), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(every_s)
            if reader.is_alive():
                passed = time.monotonic() - begun_s
                print(f"  {passed:.0f} s: {_step(output)}", flush=True)
    if pip.returncode:
        print("\n".join(output), file=sys.stderr)
    return pip.returncode


def _read(pip: subprocess.Popen[str], output: deque[str]) -> None:
    assert pip.stdout is not None
    output.extend(line.rstrip() for line in pip.stdout)


def _step(output: deque[str]) -> str:
    """What pip said last, in a few words."""
    said = next((line.strip() for line in reversed(list(output)) if line.strip()), "")
    if said.startswith(UNPACKING):
        wanted = said.removeprefix(UNPACKING).split(", ")
        return f"unpacking packages, {_unpacked(wanted)} of {len(wanted)} are there"
    words = said or "starting pip"
    return words if len(words) <= SHOWN_CHARS else f"{words[: SHOWN_CHARS - 3]}..."


def _unpacked(wanted: list[str]) -> int:
    """How many of some packages the environment has."""
    folders = (path for path in map(Path, sys.path) if path.name == "site-packages")
    there = {
        entry.name.split("-")[0].lower().replace("_", "-")
        for folder in folders
        for entry in folder.glob("*.dist-info")
    }
    return sum(name.lower().replace("_", "-") in there for name in wanted)


if __name__ == "__main__":
    sys.exit(install([sys.executable, "-m", "pip", "install", *sys.argv[1:]]))
