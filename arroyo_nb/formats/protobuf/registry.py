"""Schemas of Protocol Buffers in a schema registry: that of a table is asked for once,
where a run starts; those of its records by their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from google.protobuf.descriptor import FileDescriptor

from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.formats.protobuf.compile import (
    compiled_texts,
    named_below,
    require_protoc,
)
from arroyo_nb.formats.protobuf.descriptors import pool_of
from arroyo_nb.formats.protobuf.options import FILE, TEXT, include_folders
from arroyo_nb.formats.protobuf.source import INLINE, read_file, read_import
from arroyo_nb.schema_registry import (
    ENDPOINT,
    MAX_SCHEMAS,
    PROTOBUF,
    Reference,
    RegisteredSchema,
    RegistryClient,
    registered_under,
    registry_client,
)
from arroyo_nb.with_options import OptionValue


@dataclass(frozen=True)
class NewestSchema:
    """The newest schema of a topic's records: its id, and the set of descriptors."""

    schema_id: int
    files: bytes


def newest_schema(table: str, options: Mapping[str, OptionValue]) -> NewestSchema:
    """The newest schema of a table's records.

    Raises
    ------
    RunProblem
        When the registry is not there, or its schema is of another kind.
    CatalogProblem
        When the schema does not compile.
    """
    client, subject = _client(table, options), registered_under(options)
    found = client.latest(subject)
    if found.schema_type != PROTOBUF:
        raise RunProblem(
            f"the schema '{subject}' of '{table}' is of the kind {found.schema_type}, "
            f"and not {PROTOBUF}",
            hint="name another 'value.subject', or another format",
        )
    require_protoc(table)
    return NewestSchema(found.schema_id, _compiled(client, found))


@lru_cache(MAX_SCHEMAS)
def schema_file(client: RegistryClient, schema_id: int) -> FileDescriptor | str:
    """The schema of an id, or why it is none of Protocol Buffers.

    Raises
    ------
    RunProblem
        When the registry is not there, or does not know it.
    """
    found = client.schema(schema_id)
    called = f"its schema {schema_id} in the schema registry"
    if found.schema_type != PROTOBUF:
        return f"{called} is {found.schema_type}, and not {PROTOBUF}"
    try:
        return pool_of(_compiled(client, found)).FindFileByName(INLINE)
    except CatalogProblem as problem:
        return f"{called} cannot be used: {problem.message}"


def _compiled(client: RegistryClient, schema: RegisteredSchema) -> bytes:
    texts = {INLINE: schema.text, **dict(_imported(client, schema, set()))}
    return compiled_texts((*texts.items(),), INLINE)


def _imported(
    client: RegistryClient, schema: RegisteredSchema, known: set[str]
) -> Iterator[tuple[str, str]]:
    """The texts that a schema imports, by name; those of Google come with protoc."""
    for reference in schema.references:
        if reference.name in known or _is_of_google(reference.name):
            continue
        known.add(reference.name)
        found = client.referenced(reference)
        yield reference.name, found.text
        yield from _imported(client, found, known)


def written_id(options: Mapping[str, OptionValue], file: FileDescriptor) -> int:
    """The id that a sink writes before its records: that of the table's own schema,
    which is registered if it is new, after the files that it imports, or of the newest
    one.

    Parameters
    ----------
    options
        Those of the table.
    file
        The file of the message.

    Raises
    ------
    RunProblem
        When the registry is not there, or refuses.
    """
    client, subject = _client("", options), registered_under(options)
    text = _own_text(options, file)
    if text is None:
        return int(client.latest(subject).schema_id)
    references = _Imports(client, options).of(file)
    return int(client.register(subject, PROTOBUF, text, references))


class _Imports:
    """Registers the files that others import, each once."""

    def __init__(
        self, client: RegistryClient, options: Mapping[str, OptionValue]
    ) -> None:
        self._client = client
        self._options = options
        self._known: dict[str, Reference] = {}

    def of(self, file: FileDescriptor) -> list[Reference]:
        """Those that a file imports itself; theirs are registered before them."""
        found = (one for one in file.dependencies if not _is_of_google(one.name))
        return [self._registered(one) for one in found]

    def _registered(self, file: FileDescriptor) -> Reference:
        if file.name not in self._known:
            text = read_import(file.name, self._options).decode("utf-8", "replace")
            self._known[file.name] = self._client.register_reference(
                file.name, PROTOBUF, text, self.of(file)
            )
        return self._known[file.name]


def _is_of_google(name: str) -> bool:
    """Whether a file comes with Protocol Buffers: every registry has it."""
    return name.startswith("google/protobuf/")


def _own_text(options: Mapping[str, OptionValue], file: FileDescriptor) -> str | None:
    """The text of the file of the message; None: the table has none of its own."""
    if TEXT in options:
        return str(options[TEXT])
    # A registry takes no compiled descriptors.
    if FILE not in options:
        return None
    name, _ = named_below(Path(str(options[FILE])), include_folders(options))
    # The message may be one that the table's file imports.
    is_own = file.name == name
    found = read_file("", FILE, options) if is_own else read_import(file.name, options)
    return found.decode("utf-8", "replace")


def _client(table: str, options: Mapping[str, OptionValue]) -> RegistryClient:
    client = registry_client(options)
    if client is None:
        whose = f" of the table '{table}'" if table else ""
        raise RunProblem(
            f"required option '{ENDPOINT}' not set{whose}",
            hint="the schema of its records is in that schema registry",
        )
    return client
