"""What a writer must still know after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


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
        """What was written last; None where nothing ever was."""
        if not self._path.exists():
            return None
        return json.loads(self._path.read_text(encoding="utf-8"))

    def write(self, value: Any) -> None:
        """Replace it."""
        torn = self._path.with_name(f".{self._path.name}.tmp")
        torn.write_text(json.dumps(value), encoding="utf-8")
        torn.replace(self._path)
