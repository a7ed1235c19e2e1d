"""What a writer must still know after a kill."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from arroyo_nb.errors import RunProblem


class Notes:
    """One JSON value in a file; it is replaced as a whole, or not at all.

    Parameters
    ----------
    path
        The file; its folder is made if need be.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path

    def read(self) -> Any | None:
        """What was written last; None where nothing ever was.

        Raises
        ------
        RunProblem
            When it is no JSON: a disk lost it, or somebody else wrote there.
        """
        if not self._path.exists():
            return None
        try:
            return json.loads(self._path.read_bytes())
        except ValueError:
            raise RunProblem(
                f"the notes of this sink cannot be read: '{self._path}'",
                hint="start with another state folder",
            ) from None

    def write(self, value: Any) -> None:
        """Replace it."""
        torn = self._path.with_name(f".{self._path.name}.tmp")
        with torn.open("w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            # A rename may reach the disk before what was written does.
            os.fsync(file.fileno())
        torn.replace(self._path)
