"""The WITH options of folders of files, and which of them go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.connectors._file_names import STRATEGIES
from arroyo_nb.connectors._folder_state import FILE_SIZE, INACTIVITY, INTERVAL
from arroyo_nb.connectors._part_files import JSON_COMPRESSION
from arroyo_nb.connectors._partitions import FIELDS, TIME_PATTERN, Partitioning
from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported
from arroyo_nb.formats import FileFormat, file_format, tells_changes
from arroyo_nb.schema import TIMESTAMP, ListOf, Primitive, Schema, StructOf, Type
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

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


_SHARED = (
    Option(
        "path",
        OptionKind.STRING,
        "folder of the files, or file://",
        required=True,
        example="/data/events",
        holds=Holds.PATH,
    ),
)
_SOURCE = (
    Option(PATTERN, OptionKind.STRING, "which files are read, by their path below"),
    Option(
        PACKED,
        OptionKind.ENUM,
        "how files of lines are packed; without it, a file whose first bytes are those "
        "of gzip or zstd is unpacked",
        default="none",
        fills_in=False,
        choices=("none", "gzip", "zstd"),
    ),
)
SINK_FILES = (
    Option(FILE_SIZE, OptionKind.SIZE, "a file is complete at this size"),
    Option(
        INTERVAL,
        OptionKind.DURATION,
        "a file is complete this long after its first row",
    ),
    Option(
        INACTIVITY,
        OptionKind.DURATION,
        "a file is complete this long after its last row",
    ),
    Option("filename.prefix", OptionKind.STRING, "prefix of file names"),
    Option("filename.suffix", OptionKind.STRING, "suffix of file names, after a dot"),
    Option(
        "filename.strategy",
        OptionKind.ENUM,
        "the unique part of file names",
        default="uuid_v7",
        choices=tuple(STRATEGIES),
    ),
    Option(
        TIME_PATTERN, OptionKind.STRING, "folders by event time, as strftime has it"
    ),
    Option(FIELDS, OptionKind.ARRAY, "folders by the values of these columns"),
    Option(
        "shuffle_by_partition.enabled",
        OptionKind.BOOL,
        "accepted for Arroyo's sake; the rows of a folder always come together",
        in_identity=False,
    ),
    Option(
        "sink.version",
        OptionKind.ENUM,
        "accepted for Arroyo's sake; there is one",
        choices=("v1", "v2"),
        in_identity=False,
    ),
    Option(
        "rolling_policy.watermark_expiration",
        OptionKind.BOOL,
        "not supported: closes the files of a time that is past",
    ),
    Option("multipart.target_part_size", OptionKind.SIZE, "not supported"),
    Option("multipart.max_parts", OptionKind.UINT, "not supported"),
    Option("multipart.minimum_multipart_size", OptionKind.SIZE, "not supported"),
)
"""How a sink names its files, when one is complete, and which folder it is in."""

_LINES = (
    Option(
        JSON_COMPRESSION,
        OptionKind.ENUM,
        "how files of lines are packed",
        default="uncompressed",
        choices=("uncompressed", "gzip"),
    ),
)
OPTIONS = (
    *_SHARED,
    *(replace(option, only="source") for option in _SOURCE),
    *(replace(option, only="sink") for option in (*SINK_FILES, *_LINES)),
)


def local_path(text: str, shown: str | None = None) -> Path:
    """A path as it is written, or behind ``file://``; errors call it ``shown``.

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
            f"the path '{shown or text}' is not local; only local paths are supported",
            hint="give a path of this machine, plain or as file:///...",
        )
    return Path(unquote(url.path))


def option_problems(
    spec: TableSpec, direction: Direction
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with options that are right each by itself, and in which one."""
    options = spec.options
    try:
        local_path(str(options.get("path", "")))
    except Unsupported as problem:
        yield "path", problem
    for name, words in _REFUSED.items():
        if options.get(name):
            yield name, Unsupported(words.format(name))
    if direction is Direction.SOURCE:
        yield from _source_problems(options)
    else:
        yield from _sink_problems(spec)


def _source_problems(
    options: Mapping[str, OptionValue],
) -> Iterator[tuple[str, ArroyoError]]:
    try:
        re.compile(str(options.get(PATTERN, "")))
    except re.error as problem:
        yield (
            PATTERN,
            CatalogProblem(
                f"the value of '{PATTERN}' is not a regular expression: {problem}"
            ),
        )
    files = _files_of(options)
    if files is not None and options.get(PACKED, "none") != "none":
        yield (
            PACKED,
            CatalogProblem(f"{files.title} files are packed inside: leave it out"),
        )


def _files_of(options: Mapping[str, OptionValue]) -> FileFormat | None:
    """The format, where it is one of whole files."""
    return file_format(str(options["format"])) if "format" in options else None


def _sink_problems(spec: TableSpec) -> Iterator[tuple[str, ArroyoError]]:
    options = spec.options
    files = _files_of(options)
    if files is not None and options.get(JSON_COMPRESSION) == "gzip":
        names = (option.name for option in (*files.options, *files.file_options))
        own = next((name for name in names if name.endswith(".compression")), None)
        yield (
            JSON_COMPRESSION,
            CatalogProblem(
                f"'{JSON_COMPRESSION}' is for lines, not for {files.title} files",
                hint="leave it out" if own is None else f"write {own}",
            ),
        )
    for name in ("filename.prefix", "filename.suffix"):
        if "/" in str(options.get(name, "")):
            yield name, CatalogProblem(f"'{name}' is part of a name: it has no slash")
    partitioning = Partitioning.of(options)
    name = TIME_PATTERN if partitioning.time_pattern is not None else FIELDS
    if name not in options:
        return
    format_ = str(options.get("format", ""))
    if tells_changes(format_):
        yield (
            name,
            Unsupported(
                f"'{name}' is not supported for {format_}: the row before and the "
                "row after can be of different folders"
            ),
        )
    if ".." in (partitioning.time_pattern or "").split("/"):
        yield TIME_PATTERN, CatalogProblem("the folders of a table lie in its 'path'")
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
