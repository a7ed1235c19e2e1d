"""Where a table's schema of Protocol Buffers comes from.

It is read where a run starts, on the driver, and travels to Spark's workers as an
option of the table that nobody writes: :data:`COMPILED`. So a .proto file that was
changed is seen by the next run, and by no run that goes on.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.file_errors import refusal
from arroyo_nb.formats.protobuf.compile import (
    MissingImport,
    compiled_file,
    compiled_texts,
    named_below,
    require_protoc,
)
from arroyo_nb.formats.protobuf.descriptors import (
    MessageSchema,
    file_names,
    message_schema,
)
from arroyo_nb.formats.protobuf.options import (
    DESCRIPTOR_SET,
    FILE,
    INCLUDE,
    MESSAGE,
    SOURCES,
    TEXT,
    check_sources,
    include_folders,
)
from arroyo_nb.outside_reads import read_outside
from arroyo_nb.with_options import REFERENCE, OptionValue

COMPILED = "protobuf.compiled"
"""The set of descriptors in base64, for workers; no option that a script may have."""

TABLE = "protobuf.table"
"""The table's name for errors of workers; no option that a script may have either."""

INLINE = "schema.proto"
"""What errors call the text of the option :data:`TEXT`."""


def read_schema(table: str, options: Mapping[str, OptionValue]) -> MessageSchema:
    """The message of a table's records.

    Parameters
    ----------
    table
        Its name, for errors; empty: who asks names it.
    options
        Those of the table, the variables resolved.

    Raises
    ------
    CatalogProblem
        When it is wrong: it does not compile, or has no such message.
    RunProblem
        When it cannot be read.
    """
    wanted = options.get(MESSAGE)
    try:
        files = _read_files(table, options)
        return message_schema(files, None if wanted is None else str(wanted))
    except CatalogProblem as problem:
        if table:  # the planner names it itself
            problem.message = f"the table '{table}': {problem.message}"
        raise


def _read_files(table: str, options: Mapping[str, OptionValue]) -> bytes:
    if COMPILED in options:
        return base64.b64decode(str(options[COMPILED]))
    check_sources(options)
    if DESCRIPTOR_SET in options:
        return read_file(table, DESCRIPTOR_SET, options)
    if FILE in options:
        return _compiled(table, options)
    if TEXT in options:
        require_protoc(table)
        return compiled_texts(((INLINE, str(options[TEXT])),), INLINE)
    from arroyo_nb.formats.protobuf.registry import newest_schema

    return newest_schema(table, options).files


def _compiled(table: str, options: Mapping[str, OptionValue]) -> bytes:
    folders = include_folders(options)
    for folder in folders:
        _check_allowed(table, INCLUDE, folder)
    read_file(table, FILE, options)  # protoc has other words for what is missing
    require_protoc(table)
    path = Path(str(options[FILE]))
    try:
        files = compiled_file(path, folders)
    except MissingImport as problem:
        searched = _searched([*folders, path.parent], named=not table)
        problem.hint = f"imports were looked for in {searched}; {problem.hint}"
        raise
    _check_links(table, files, [*folders, path.parent])
    return files


def _searched(folders: Sequence[Path], *, named: bool) -> str:
    """The folders of imports for an error; of a run, whose folders may be of variables
    and so secrets, the options that name them."""
    if not named:
        return f"the folder of '{FILE}' and those of '{INCLUDE}'"
    return ", ".join(f"'{folder}'" for folder in dict.fromkeys(folders))


def _check_links(table: str, files: bytes, folders: Iterable[Path]) -> None:
    """Make sure that no imported file is a link that leads to what is not allowed."""
    for name in file_names(files):
        for folder in folders:
            _check_allowed(table, FILE, folder / name)


def read_file(table: str, option: str, options: Mapping[str, OptionValue]) -> bytes:
    """The content of the file that an option names. Errors name the option: its value
    may be that of a variable, and so a secret.

    Raises
    ------
    RunProblem
        When it cannot be read, or may not be.
    """
    path = Path(str(options[option]))
    _check_allowed(table, option, path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunProblem(
            f"there is no file at {_named(table, option)}",
            hint=f"paths are relative to '{Path.cwd()}'",
        ) from None
    except OSError as problem:
        attempt = f"cannot read {_named(table, option)}"
        raise refusal(problem, attempt, "schema", option) from None


def read_import(name: str, options: Mapping[str, OptionValue]) -> bytes:
    """The content of a file that the one of :data:`FILE` imports, by the name that
    imports have for it.

    Raises
    ------
    RunProblem
        When it cannot be read, or may not be.
    """
    _, folders = named_below(Path(str(options[FILE])), include_folders(options))
    for folder in folders:
        path = folder / name
        _check_allowed("", FILE, path)
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            attempt = f"cannot read '{name}', which '{FILE}' imports"
            raise refusal(problem, attempt, "schema", INCLUDE) from None
    raise RunProblem(
        f"the file '{name}', which '{FILE}' imports, is gone",
        hint=f"imports are looked for in the folder of '{FILE}' and those of "
        f"'{INCLUDE}'",
    )


def _check_allowed(table: str, option: str, path: Path) -> None:
    roots = current_roots()
    if not roots.allow(path):
        raise roots.refusal(_named(table, option))


def _named(table: str, option: str) -> str:
    return f"'{option}' of '{table}'" if table else f"'{option}'"


def schema_options(
    table: str, options: Mapping[str, OptionValue]
) -> Mapping[str, OptionValue]:
    """What a worker takes in place of the options that name files or servers.

    Raises
    ------
    ArroyoError
        As of :func:`read_schema`.
    """
    schema = read_schema(table, options)
    files = base64.b64encode(schema.files).decode("ascii")
    return {COMPILED: files, MESSAGE: schema.name, TABLE: table}


def planned_schema(options: Mapping[str, OptionValue]) -> MessageSchema | None:
    """The message as far as the planner can know it; None: only a run can, as a file or
    a variable is missing, or a registry has it; or it is not compiled yet, and who
    plans may not wait.

    Raises
    ------
    CatalogProblem
        When it is wrong: it does not compile, or has no such message.
    """
    texts = [str(options.get(name, "")) for name in (*SOURCES, INCLUDE, MESSAGE)]
    if not any(texts[: len(SOURCES)]) or any(map(REFERENCE.search, texts)):
        return None
    key = (MESSAGE, *texts)
    try:
        return read_outside(key, partial(read_schema, "", options))
    except RunProblem:
        return None
