"""Rows that a user names: a variable of the notebook, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.frames import gives_rows
from arroyo_nb.registry import did_you_mean


def named_data(source: str, variables: Mapping[str, Any]) -> Any:
    """The value of a variable, or the path of a file.

    Raises
    ------
    RunProblem
        When it looks like a variable, and there is none.
    """
    if source in variables:
        return variables[source]
    if not source.isidentifier():
        return user_path(source)
    if Path(source).exists():
        return Path(source)
    frames = [n for n, v in variables.items() if gives_rows(v) or _is_list(n, v)]
    raise RunProblem(
        f"there is no variable '{source}'",
        hint=did_you_mean(source, frames)
        or f"assign the rows to {source} in a cell before this one, or name a CSV file",
    )


def _is_list(name: str, value: Any) -> bool:
    # IPython keeps lists of its own: its history.
    return isinstance(value, list) and not name.startswith("_") and name not in _SHELL


_SHELL = ("In", "Out")
