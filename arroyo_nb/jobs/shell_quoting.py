"""A path as a word of a shell command that a person copies."""

from __future__ import annotations

import shlex
from pathlib import Path


def shell_path(path: str | Path) -> str:
    """The path, quoted where a shell wants that, and never read as an option.

    >>> shell_path("-a/job.yaml"), shell_path("My Jobs/job.yaml")
    ('./-a/job.yaml', "'My Jobs/job.yaml'")
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
