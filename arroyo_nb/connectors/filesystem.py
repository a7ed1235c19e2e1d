"""``filesystem``: the files of a folder, read once or added to.

The source lists its files once, in the order of their names, and reads them one after
another. The sink adds files to a folder, which appear when they are whole, and writes
every row once however often the run is killed (see
:mod:`arroyo_nb.connectors._folder_writer`). Only local paths are supported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from arroyo_nb.connectors import (
    MERGES_CHUNKS,
    ConnectorBase,
    ConnectorInfo,
    Direction,
    PeekedFiles,
    TableSpec,
    Writer,
)
from arroyo_nb.connectors._file_names import FileNames
from arroyo_nb.connectors._files import Files
from arroyo_nb.connectors._folder_columns import FolderColumns, folder_values
from arroyo_nb.connectors._folder_options import (
    OPTIONS,
    PACKED,
    PATTERN,
    local_path,
    option_problems,
)
from arroyo_nb.connectors._folder_peek import peek_files
from arroyo_nb.connectors._folder_state import Rolling
from arroyo_nb.connectors._folder_writer import FolderWriter
from arroyo_nb.connectors._line_files import LineReader
from arroyo_nb.connectors._part_files import parts_of
from arroyo_nb.connectors._partitions import Partitioning
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import (
    FileReader,
    Framing,
    ListedFile,
    file_format,
    line_format,
    reads_fields,
    tells_changes,
)
from arroyo_nb.schema import Schema
from arroyo_nb.tape import Recorder
from arroyo_nb.with_options import OptionValue


class FileSystem(ConnectorBase):
    """The connector ``filesystem``: a folder of files, read or written."""

    info = ConnectorInfo(
        name="filesystem",
        doc="the files of a folder",
        directions=frozenset(Direction),
        framings=frozenset({Framing.LINES, Framing.FILES}),
        bounded=True,
        reading=MERGES_CHUNKS,
        options=OPTIONS,
    )

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: the columns are declared."""
        return None

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What is wrong with options that are right each by itself."""
        return option_problems(spec, direction)

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """The folder of the table, with the option that names it."""
        yield "path", local_path(str(spec.options["path"]), spec.shown("path"))

    def recorder(self, spec: TableSpec) -> Recorder:
        """Reads the files that are there now.

        Raises
        ------
        RunProblem
            When there is none, or the first cannot be read.
        """
        pattern = str(spec.options.get(PATTERN, ""))
        shown = spec.shown("path")
        files = _found(local_path(str(spec.options["path"]), shown), shown, pattern)
        return Files(files, _reader(spec), spec.event_time)

    def peek_files(self, path: str) -> PeekedFiles:
        """What the files of a path hold."""
        return peek_files(_found(local_path(path), path, ""))

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """A writer that adds files to the folder, each complete when it appears."""
        options = spec.options
        parts = parts_of(spec.physical, options)
        prefix, suffix = options.get("filename.prefix"), options.get("filename.suffix")
        names = FileNames(
            str(options.get("filename.strategy", "uuid_v7")),
            None if prefix is None else str(prefix),
            parts.extension if suffix is None else str(suffix),
        )
        return FolderWriter(
            local_path(str(options["path"]), spec.shown("path")),
            spec.shown("path"),
            state,
            parts,
            Partitioning.of(options),
            Rolling.of(options),
            names,
            spec.user,
            spec.resume,
        )


def _found(root: Path, shown: str, pattern: str) -> tuple[ListedFile, ...]:
    with refusals("read", shown):
        files = tuple(listed(root, shown, pattern))
    if not files:
        matching = f" whose path matches '{pattern}'" if pattern else ""
        raise RunProblem(
            f"there is no file in '{shown}'{matching}",
            hint="files and folders that begin with '.' or '_' are not read",
        )
    return files


def listed(root: Path, shown: str, pattern: str) -> Iterator[ListedFile]:
    """The files below a folder, in the order of their paths; a file is itself.

    Parameters
    ----------
    root
        Where they lie.
    shown
        What messages call it.
    pattern
        What is to be found in a path below it.
    """
    if root.is_file():
        yield ListedFile(root, shown)
        return
    found = []
    for folder, folders, files in os.walk(root, onerror=_refuse):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        below = Path(folder).relative_to(root)
        found += [(below / name).as_posix() for name in files if not _is_hidden(name)]
    for name in sorted(found):
        if re.search(pattern, name) and (root / name).is_file():
            place = f"{shown.rstrip('/')}/{name}"
            yield ListedFile(root / name, place, folder_values(name))


def _refuse(problem: OSError) -> None:
    raise problem


def _is_hidden(name: str) -> bool:
    # A partition of a column whose name begins so is none of those in progress.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _reader(spec: TableSpec) -> FileReader:
    options, name = spec.options, str(spec.options["format"])
    files, packed = file_format(name), options.get(PACKED)

    def reader(
        schema: Schema, event_time: str | None, elsewhere: frozenset[str]
    ) -> FileReader:
        if files is not None:
            return files.file_reader(schema, options, event_time, elsewhere)
        decoder = line_format(name).decoder(
            schema, options, event_time, spec.primary_key
        )
        return LineReader(decoder, None if packed is None else str(packed))

    # A change has its row before and after, which may be of two folders; and a record
    # that is one column has no others.
    if files is None and (tells_changes(name) or not reads_fields(name)):
        return reader(spec.physical, spec.event_time, frozenset())
    return FolderColumns(spec.physical, spec.event_time, reader)


CONNECTOR = FileSystem()
