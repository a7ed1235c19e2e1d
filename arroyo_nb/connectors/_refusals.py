"""The system's refusals in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusal


@contextmanager
def refusals(verb: str, name: str) -> Iterator[None]:
    """Tell what the system refuses; its own words have the path, which may be a secret.

    Parameters
    ----------
    verb
        What is done: ``read`` or ``write``.
    name
        What messages call the file.

    Raises
    ------
    RunProblem
        In place of each OSError.
    """
    try:
        yield
    except OSError as problem:
        if verb == "read" and isinstance(problem, FileNotFoundError):
            raise RunProblem(
                f"there is no file '{name}'",
                hint=f"paths are relative to '{Path.cwd()}'",
            ) from None
        what = "sink" if verb == "write" else "source"
        raise refusal(problem, f"cannot {verb} '{name}'", what, name) from None
