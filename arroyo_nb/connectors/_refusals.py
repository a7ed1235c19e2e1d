"""The system's refusals in our words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arroyo_nb.durable_files import RAISE, full_disk, is_full
from arroyo_nb.errors import RunProblem


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
        if is_full(problem):
            raise full_disk("sink" if verb == "write" else "source", name) from None
        hint = RAISE if problem.errno == errno.EMFILE else None
        # Arrow's are without a number, and so without the system's word for it.
        said = problem.strerror or str(problem)
        raise RunProblem(f"cannot {verb} '{name}': {said}", hint=hint) from None
