"""``filesystem``: the files of a folder, read once or added to.

The source lists its files once, in the order of their names, and reads them one after
another. The sink adds files to a folder, which appear when they are whole, and writes
every row once however often the run is killed (see
:mod:`arroyo_nb.connectors._folder_writer`). Only local paths are supported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from arroyo_nb.connectors import Direction, TableSpec, Writer
from arroyo_nb.connectors._file_names import STRATEGIES, FileNames
from arroyo_nb.connectors._files import FileReader, Files, Listed
from arroyo_nb.connectors._folder_state import FILE_SIZE, INACTIVITY, INTERVAL, Rolling
from arroyo_nb.connectors._folder_writer import FolderWriter
from arroyo_nb.connectors._line_files import LineReader
from arroyo_nb.connectors._parquet_files import ParquetReader
from arroyo_nb.connectors._partitions import FIELDS, TIME_PATTERN, Partitioning
from arroyo_nb.connectors._parts import JSON_COMPRESSION, parts_of
from arroyo_nb.connectors._refusals import refusals
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem, Unsupported
from arroyo_nb.formats import line_format
from arroyo_nb.formats.parquet import FORMAT as PARQUET
from arroyo_nb.options import Kind, Option, OptionValue
from arroyo_nb.schema import TIMESTAMP, ListOf, Primitive, Schema, StructOf, Type
from arroyo_nb.tape import Recorder

PATTERN, PACKED = "source.regex_pattern", "source.compression"
_REMOTE = "the option '{}' is for object stores; only local paths are supported"
_REFUSED = {
    "rolling_policy.watermark_expiration": "the option '{}' is not supported: a sink "
    "is given rows, not the watermark",
    "multipart.target_part_size": _REMOTE,
    "multipart.max_parts": _REMOTE,
    "multipart.minimum_multipart_size": _REMOTE,
}
_NO_FOLDERS = frozenset(("BYTEA", "JSON", "NULL"))


def _of_source(name: str, kind: Kind, doc: str, **more: object) -> Option:
    return Option(name, kind, doc, only="source", **more)  # type: ignore[arg-type]


def _of_sink(name: str, kind: Kind, doc: str, **more: object) -> Option:
    return Option(name, kind, doc, only="sink", **more)  # type: ignore[arg-type]


_OPTIONS = (
    Option("path", Kind.STRING, "folder of the files, or file://", required=True),
    _of_source(PATTERN, Kind.STRING, "which files are read, by their path below"),
    _of_source(
        PACKED,
        Kind.ENUM,
        "how files of lines are packed",
        default="none",
        choices=("none", "gzip", "zstd"),
    ),
    _of_sink(FILE_SIZE, Kind.SIZE, "a file is whole at this size"),
    _of_sink(INTERVAL, Kind.DURATION, "a file is whole this long after its begin"),
    _of_sink(INACTIVITY, Kind.DURATION, "a file is whole this long after its last row"),
    _of_sink("filename.prefix", Kind.STRING, "what the names of files begin with"),
    _of_sink("filename.suffix", Kind.STRING, "what they end with, after a dot"),
    _of_sink(
        "filename.strategy",
        Kind.ENUM,
        "what stands between",
        default="uuid_v7",
        choices=tuple(STRATEGIES),
    ),
    _of_sink(TIME_PATTERN, Kind.STRING, "folders by event time, as strftime has it"),
    _of_sink(FIELDS, Kind.ARRAY, "folders by the values of these columns"),
    _of_sink(
        JSON_COMPRESSION,
        Kind.ENUM,
        "how files of lines are packed",
        default="uncompressed",
        choices=("uncompressed", "gzip"),
    ),
    _of_sink(
        "shuffle_by_partition.enabled",
        Kind.BOOL,
        "accepted for Arroyo's sake; the rows of a folder always come together",
    ),
    _of_sink(
        "sink.version",
        Kind.ENUM,
        "accepted for Arroyo's sake; there is one",
        choices=("v1", "v2"),
    ),
    _of_sink(
        "rolling_policy.watermark_expiration",
        Kind.BOOL,
        "not supported: closes the files of a time that is past",
    ),
    _of_sink("multipart.target_part_size", Kind.SIZE, "not supported"),
    _of_sink("multipart.max_parts", Kind.UINT, "not supported"),
    _of_sink("multipart.minimum_multipart_size", Kind.SIZE, "not supported"),
)


class FileSystem:
    """The connector."""

    name = "filesystem"
    doc = "the files of a folder"
    directions = frozenset(Direction)
    typed = True
    formats = ("json", "debezium_json", "parquet")
    options = _OPTIONS

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: the columns are declared."""
        return None

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with options that are right each by itself."""
        options = spec.options
        try:
            local_path(str(options.get("path", "")))
        except ArroyoError as problem:
            yield "path", problem
        for name, words in _REFUSED.items():
            if options.get(name):
                yield name, Unsupported(words.format(name))
        if direction is Direction.SOURCE:
            yield from _source_problems(options)
        else:
            yield from _sink_problems(spec)

    def recorder(self, spec: TableSpec) -> Recorder:
        """Reads the files that are there now.

        Raises
        ------
        RunProblem
            When there is none, or the first cannot be read.
        """
        pattern = str(spec.options.get(PATTERN, ""))
        shown = spec.shown("path")
        root = local_path(str(spec.options["path"]))
        with refusals("read", shown):
            files = tuple(listed(root, shown, pattern))
        if not files:
            matching = f" whose path matches '{pattern}'" if pattern else ""
            raise RunProblem(
                f"there is no file in '{shown}'{matching}",
                hint="files and folders that begin with '.' or '_' are not read",
            )
        return Files(files, _reader(spec), spec.event_time)

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Adds files."""
        options = spec.options
        parts = parts_of(spec.physical, options)
        prefix, suffix = options.get("filename.prefix"), options.get("filename.suffix")
        names = FileNames(
            str(options.get("filename.strategy", "uuid_v7")),
            None if prefix is None else str(prefix),
            parts.extension if suffix is None else str(suffix),
        )
        return FolderWriter(
            local_path(str(options["path"])),
            spec.shown("path"),
            state,
            parts,
            Partitioning.of(options),
            Rolling.of(options),
            names,
            spec.user,
        )


def local_path(text: str) -> Path:
    """A path as it is written, or behind ``file://``.

    >>> local_path("file:///data/trips%20of%202023").as_posix()
    '/data/trips of 2023'

    Raises
    ------
    Unsupported
        For a path on something else than this machine's disks.
    """
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        return Path(text)
    url = urlsplit(text)
    if scheme[1].lower() != "file" or url.netloc not in ("", "localhost"):
        raise Unsupported(
            f"the path '{text}' is not local: '{scheme[1]}://{url.netloc}' is not "
            "supported",
            hint="give a path of this machine, plain or as file:///...",
        )
    return Path(unquote(url.path))


def listed(root: Path, shown: str, pattern: str) -> Iterator[Listed]:
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
        yield Listed(root, shown)
        return
    found = []
    for folder, folders, files in os.walk(root, onerror=_refuse):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        below = Path(folder).relative_to(root)
        found += [(below / name).as_posix() for name in files if not _is_hidden(name)]
    for name in sorted(found):
        if re.search(pattern, name) and (root / name).is_file():
            yield Listed(root / name, f"{shown.rstrip('/')}/{name}")


def _refuse(problem: OSError) -> None:
    raise problem


def _is_hidden(name: str) -> bool:
    # A partition of a column whose name begins so is none of those in progress.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _reader(spec: TableSpec) -> FileReader:
    options = spec.options
    if options["format"] == PARQUET.name:
        return ParquetReader(PARQUET.decoder(spec.physical, options, spec.event_time))
    decoder = line_format(str(options["format"])).decoder(
        spec.physical, options, spec.event_time, spec.primary_key
    )
    return LineReader(decoder, str(options.get(PACKED, "none")))


def _source_problems(
    options: Mapping[str, OptionValue],
) -> Iterator[tuple[str, ArroyoError]]:
    try:
        re.compile(str(options.get(PATTERN, "")))
    except re.error as problem:
        yield (
            PATTERN,
            CatalogProblem(
                f"the value of '{PATTERN}' is no regular expression: {problem}"
            ),
        )
    if options.get("format") == PARQUET.name and options.get(PACKED, "none") != "none":
        yield PACKED, CatalogProblem("Parquet files are packed inside: leave it out")


def _sink_problems(spec: TableSpec) -> Iterator[tuple[str, ArroyoError]]:
    options = spec.options
    is_parquet = options.get("format") == PARQUET.name
    if is_parquet and options.get(JSON_COMPRESSION) == "gzip":
        yield (
            JSON_COMPRESSION,
            CatalogProblem(
                f"'{JSON_COMPRESSION}' is for lines, not for Parquet files",
                hint="write parquet.compression",
            ),
        )
    for name in ("filename.prefix", "filename.suffix"):
        if "/" in str(options.get(name, "")):
            yield name, CatalogProblem(f"'{name}' is part of a name: it has no slash")
    partitioning = Partitioning.of(options)
    name = TIME_PATTERN if partitioning.time_pattern is not None else FIELDS
    if name not in options:
        return
    if options.get("format") == "debezium_json":
        yield (
            name,
            Unsupported(
                f"'{name}' is not supported for debezium_json: the row before and the "
                "row after can be of different folders"
            ),
        )
    try:
        partitioning.sql()
    except Unsupported as problem:
        yield TIME_PATTERN, problem
    if spec.physical.fields:
        yield from _field_problems(partitioning, spec.physical)


def _field_problems(
    partitioning: Partitioning, schema: Schema
) -> Iterator[tuple[str, ArroyoError]]:
    names = (*schema.names, TIMESTAMP)
    valid = ", ".join(f'"{name}"' for name in names)
    for name in partitioning.fields:
        field = schema.get(name)
        if name not in names:
            yield (
                FIELDS,
                CatalogProblem(
                    f'Arrow error: Schema error: Unable to get field named "{name}". '
                    f"Valid fields: [{valid}]"
                ),
            )
        elif field is not None and not _names_folders(field.type):
            yield (
                FIELDS,
                Unsupported(
                    f"the values of '{name}' cannot name folders: its type is "
                    f"{field.type}"
                ),
            )


def _names_folders(type_: Type) -> bool:
    match type_:
        case ListOf() | StructOf():
            return False
        case Primitive(name):
            return name not in _NO_FOLDERS
        case _:
            return True


CONNECTOR = FileSystem()
