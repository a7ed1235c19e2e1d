"""Where is kept what is made once for all kernels of a user."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import foreign, make_work_folder
from arroyo_nb.engine.paths import user_path


def cache_folder() -> Path:
    """``ARROYO_NB_CACHE``, else a folder in the user's cache folder; that of a user
    without a home goes with the process.

    Raises
    ------
    EngineProblem
        When another user can have put something into it.
    """
    folder = _named_cache() or _passing_cache()
    if (taken := foreign(folder)) is not None:
        raise EngineProblem(
            f"the cache folder '{folder}' is not used: {taken}",
            hint="ARROYO_NB_CACHE names another folder",
        )
    return folder


@cache
def _passing_cache() -> Path:
    return make_work_folder()


def _named_cache() -> Path | None:
    named = os.environ.get("ARROYO_NB_CACHE")
    if named:
        return user_path(named)
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container's user may have none
        return None
    return Path(base) / "arroyo_nb"
