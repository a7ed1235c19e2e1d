"""What a folder of files holds: their format, and their columns where they say them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.connectors import PeekedFiles
from arroyo_nb.connectors._folder_options import PACKED
from arroyo_nb.connectors._line_files import packing_of, unpacked
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import FORMATS, FileFormat, ListedFile, file_format
from arroyo_nb.schema import (
    BIGINT,
    DOUBLE,
    FLOAT,
    HIDDEN_COLUMNS,
    INT,
    JSON,
    NULL,
    TEXT,
    Field,
    Schema,
    Timestamp,
    Type,
)

SAMPLE_FILES = 100
"""Of so many files the columns are looked at: the first ones, and the newest."""
SAMPLE_LINES = 200
_DAY = re.compile(r"\d{4}-[01]\d-[0-3]\d", re.ASCII)
_SAMPLE_BYTES = 2**20
_LONGEST_MAGIC = 16
_WIDER: Mapping[frozenset[Type], Type] = {
    frozenset((INT, BIGINT)): BIGINT,
    frozenset((FLOAT, DOUBLE)): DOUBLE,
}


def peek_files(files: Sequence[ListedFile]) -> PeekedFiles:
    """What some files hold.

    Raises
    ------
    ArroyoError
        When they are of more than one format, or cannot be read.
    """
    half = SAMPLE_FILES // 2
    sample = files if len(files) <= SAMPLE_FILES else [*files[:half], *files[-half:]]
    begins = {file.name: _begin(file) for file in sample}
    formats = {name: _format_of(begin) for name, begin in begins.items()}
    first = next(iter(formats))
    other = next((name for name in formats if formats[name] != formats[first]), None)
    if other is not None:
        ending = PurePath(first).suffix or ".json"
        raise RunProblem(
            f"'{first}' and '{other}' are files of two formats",
            hint=f"peek at one file, such as '{first}'; a table reads only some files "
            f"with 'source.regex_pattern' = '\\{ending}$'",
        )
    if (name := formats[first]) is None:
        packings = {packing_of(begin) for begin in begins.values()}
        # Of files that are packed otherwise than others each says it by itself.
        packed = packings.pop() if len(packings) == 1 else ""
        options = {PACKED: packed} if packed else {}
        folders = _folder_fields(files, ())
        return PeekedFiles(len(files), options, None, folders, _lines(sample, begins))
    format_ = file_format(name)
    assert format_ is not None
    schema, lacking = _merged(format_, sample)
    options = {"format": name, **(format_.lacking_options if lacking else {})}
    return PeekedFiles(len(files), options, schema, _folder_fields(files, schema.names))


def _begin(file: ListedFile) -> bytes:
    current_roots().check(file.path, file.name)
    with refusals("read", file.name), file.path.open("rb") as stream:
        return stream.read(_LONGEST_MAGIC)


def _format_of(begin: bytes) -> str | None:
    """The format of whole files that begin so; None: they have lines."""
    for name in FORMATS.names:
        format_ = file_format(name)
        if format_ is not None and begin.startswith(format_.magic):
            return name
    return None


def _lines(
    files: Sequence[ListedFile], begins: Mapping[str, bytes]
) -> tuple[bytes, ...]:
    packed = ((file, packing_of(begins[file.name])) for file in files)
    lines = (line for file, how in packed for line in _lines_of(file, how))
    return tuple(islice(lines, SAMPLE_LINES))


def _lines_of(file: ListedFile, packed: str) -> Iterator[bytes]:
    """The lines that stand as a whole in the first part of a file."""
    with refusals("read", file.name), ExitStack() as opened:
        stream: BinaryIO = opened.enter_context(file.path.open("rb"))
        if packed:
            stream = opened.enter_context(unpacked(stream, packed))
        text = stream.read(_SAMPLE_BYTES)
    lines = io.BytesIO(text).readlines()
    if len(text) == _SAMPLE_BYTES and len(lines) > 1:
        del lines[-1]
    for line in lines:
        if bare := line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"):
            yield bare


def _merged(format_: FileFormat, files: Sequence[ListedFile]) -> tuple[Schema, bool]:
    """The columns of all files, and whether some file lacks one."""
    found: dict[str, Field] = {}
    counts: dict[str, int] = {}
    for file in files:
        for field in format_.schema_of(file):
            # A table has no such column: its name is one of the engine's own.
            if not field.name or field.name in HIDDEN_COLUMNS:
                continue
            known = found.get(field.name, field)
            type_ = _wider(known.type, field.type)
            nullable = known.nullable or field.nullable
            found[field.name] = Field(field.name, type_, nullable=nullable)
            counts[field.name] = counts.get(field.name, 0) + 1
    lacking = {name for name, count in counts.items() if count < len(files)}
    fields = (
        replace(
            field,
            nullable=field.nullable or field.name in lacking,
            # Nobody knows what a column of nothing but NULLs was to be.
            type=TEXT if field.type == NULL else field.type,
        )
        for field in found.values()
    )
    return Schema(tuple(fields)), bool(lacking)


def _wider(one: Type, other: Type) -> Type:
    if NULL in (one, other):
        return one if other == NULL else other
    return one if one == other else _WIDER.get(frozenset((one, other)), JSON)


def _folder_fields(
    files: Sequence[ListedFile], known: Sequence[str]
) -> tuple[Field, ...]:
    """The columns that folders alone have: numbers where no
    value is a code, and days."""
    values: dict[str, list[str | None]] = {}
    for file in files:
        for name, value in file.folders.items():
            values.setdefault(name, []).append(value)
    return tuple(
        Field(
            name,
            _type_of([text for text in texts if text is not None]),
            nullable=len(texts) < len(files) or None in texts,
        )
        for name, texts in values.items()
        if name not in known
    )


def _type_of(texts: Sequence[str]) -> Type:
    if texts and all(map(_is_number, texts)):
        return BIGINT
    return Timestamp() if texts and all(map(_DAY.fullmatch, texts)) else TEXT


def _is_number(text: str) -> bool:
    is_plain = text.isascii() and text.isdigit() and len(text) < 19
    return is_plain and str(int(text)) == text
