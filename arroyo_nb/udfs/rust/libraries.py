"""Compiled functions: their bytes, which travel to workers, and loading them.

A worker has no compiler and no folder in common with the driver. So what is sent to it
has the library in it. It is taken for granted that workers are machines of the driver's
kind: the same system and architecture.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from arroyo_nb.errors import RunProblem

_loaded: dict[str, ctypes.CDLL] = {}
"""The libraries of this process, by the digests of their bytes: never unloaded, as
threads of a function may still run in them."""


@dataclass(frozen=True)
class Library:
    """A compiled function.

    Parameters
    ----------
    name
        Of the function.
    digest
        SHA-256 of the library, in hexadecimal digits.
    packed
        The library, compressed.
    """

    name: str
    digest: str
    packed: bytes = field(repr=False)

    def loaded(self) -> ctypes.CDLL:
        """The library in this process.

        Raises
        ------
        RunProblem
            When this machine cannot load it.
        """
        library = _loaded.get(self.digest)
        if library is None:
            library = _loaded[self.digest] = self._load()
        return library

    def _load(self) -> ctypes.CDLL:
        # A file that nobody else can have put there, and that is gone once the library
        # is in memory: nothing stays behind on a cluster's machines.
        try:
            with tempfile.TemporaryDirectory(prefix="arroyo_nb-udf-") as folder:
                file = Path(folder) / f"{self.name}.so"
                file.write_bytes(zlib.decompress(self.packed))
                return ctypes.CDLL(str(file))
        except OSError as error:
            raise RunProblem(
                f"the library of the Rust UDF '{self.name}' cannot be loaded: {error}",
                hint="workers must be of the driver's system and architecture, and "
                "may run files of their temporary folder (TMPDIR)",
            ) from None


@cache
def read_library(name: str, path: Path) -> Library:
    """The library in a file whose name goes by its content."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return Library(name, digest, zlib.compress(content, 6))
