"""What a sink of many files notes down: which grow, and which are whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from arroyo_nb.with_options import OptionValue

FILE_SIZE, INTERVAL = "rolling_policy.file_size", "rolling_policy.interval"
INACTIVITY = "rolling_policy.inactivity_interval"


@dataclass(frozen=True)
class PartFile:
    """A file that is made of parts, which are called after its number and theirs.

    ``folder`` is where it will lie, relative to the table's; times are seconds since
    1970. ``name`` is its path below the table's folder, once it is whole.
    """

    number: int
    folder: str
    first_s: float
    last_s: float
    parts: int = 0
    size_bytes: int = 0
    name: str = ""

    def grown(self, size_bytes: int, now_s: float) -> PartFile:
        """The file with a part more."""
        size_bytes += self.size_bytes
        return replace(self, parts=self.parts + 1, size_bytes=size_bytes, last_s=now_s)


@dataclass(frozen=True)
class Rolling:
    """When a file is whole; without any limit it is after each batch.

    Parameters
    ----------
    size_bytes
        At this size.
    age_s
        This long after its first rows.
    idle_s
        This long after its last rows.
    """

    size_bytes: float = math.inf
    age_s: float = math.inf
    idle_s: float = math.inf

    @classmethod
    def of(cls, options: Mapping[str, OptionValue]) -> Rolling:
        """What the options of a table ask for."""
        size = cast("float", options.get(FILE_SIZE, math.inf))
        age, idle = (
            span.total_seconds() if isinstance(span, timedelta) else math.inf
            for span in (options.get(INTERVAL), options.get(INACTIVITY))
        )
        return cls(size, age, idle)

    def is_whole(self, file: PartFile, now_s: float) -> bool:
        """Whether a file is to be closed at that moment."""
        return (
            self == Rolling()
            or file.size_bytes >= self.size_bytes
            or now_s - file.first_s >= self.age_s
            or now_s - file.last_s >= self.idle_s
            # The system's clock went back, and might take hours to come to that again.
            or now_s < file.last_s
        )


@dataclass(frozen=True)
class FolderState:
    """Where a sink stands after a batch.

    Parameters
    ----------
    staging
        Name of the folder that its parts are in.
    batch_id
        The newest batch whose rows are in parts or files.
    numbers, names
        How many files were begun, and how many names were tried.
    growing
        The files that are open, by their folder.
    whole
        Those that are to appear.
    kind
        Of what kind the parts are: their files' extension.
    """

    staging: str
    batch_id: int = -1
    numbers: int = 0
    names: int = 0
    growing: Mapping[str, PartFile] = field(default_factory=dict)
    whole: tuple[PartFile, ...] = ()
    kind: str = ""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> FolderState:
        """The state that :meth:`noted` gave."""
        growing = {where: PartFile(**file) for where, file in found["growing"].items()}
        whole = tuple(PartFile(**file) for file in found["whole"])
        return cls(**{**found, "growing": growing, "whole": whole})

    def noted(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @property
    def files(self) -> tuple[PartFile, ...]:
        """All that have parts."""
        return (*self.growing.values(), *self.whole)

    def file(self, folder: str, now_s: float) -> PartFile:
        """The open file of a folder, or a new one."""
        new = PartFile(self.numbers, folder, now_s, now_s)
        return self.growing.get(folder, new)

    def with_open(self, file: PartFile) -> FolderState:
        """The file of its folder is this one."""
        numbers = max(self.numbers, file.number + 1)
        growing = {**self.growing, file.folder: file}
        return replace(self, numbers=numbers, growing=growing)

    def with_whole(self, file: PartFile, name: str, names: int) -> FolderState:
        """A file is open no more, and has a name."""
        growing = {w: open_ for w, open_ in self.growing.items() if w != file.folder}
        whole = (*self.whole, replace(file, name=name))
        return replace(self, names=names, growing=growing, whole=whole)
