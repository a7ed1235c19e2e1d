"""How an error of ours gets from a Python worker of Spark to who started the query.

Spark hands over a traceback as text, which may quote data, and data may have lines
like those of any traceback. So an error adds a note to itself in a worker: one line of
JSON behind a mark, a random word that only this process and its workers know.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import MutableMapping
from typing import NamedTuple

VARIABLE = "ARROYO_NB_WORKER_MARK"
"""Environment variable of a worker: the mark. No other process has it."""

MARK = os.urandom(16).hex()
"""What the workers of this process mark their errors with."""


class Raised(NamedTuple):
    """An error of ours that a worker raised, by the name of its class."""

    kind: str
    message: str
    hint: str | None
    lasting: bool


def mark_workers(environment: MutableMapping[str, str]) -> None:
    """Have the workers of a Spark mark their errors, by what it gives their functions
    for an environment."""
    environment[VARIABLE] = MARK


def worker_note(error: Raised) -> str | None:
    """What a worker writes behind an error; None: this process is no worker."""
    mark = os.environ.get(VARIABLE)
    return f"{mark} {json.dumps(error)}" if mark else None


def raised_by_worker(text: str) -> Raised | None:
    """What a worker raised, by the text of a traceback; None: nothing of ours."""
    notes = re.findall(rf"^{MARK} (\[.*\])\s*$", text, re.MULTILINE)
    # The last one was raised while the others were handled.
    return Raised(*json.loads(notes[-1])) if notes else None
