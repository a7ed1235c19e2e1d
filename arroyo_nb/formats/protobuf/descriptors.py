"""The descriptor of a message, made of the files that define it.

Files travel as the bytes of a FileDescriptorSet: so a worker of Spark needs neither the
.proto file nor protoc. Each set has a pool of its own, as two tables may have different
messages of one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from google.protobuf import (
    any_pb2,
    api_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats.protobuf.options import MESSAGE
from arroyo_nb.registry import did_you_mean

_WELL_KNOWN: Mapping[str, Any] = {
    module.DESCRIPTOR.name: module
    for module in (
        any_pb2,
        api_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        source_context_pb2,
        struct_pb2,
        timestamp_pb2,
        type_pb2,
        wrappers_pb2,
    )
}
"""The files that come with Protocol Buffers; a set may leave them out."""


@dataclass(frozen=True)
class MessageSchema:
    """A message and the files that define it; pickled for Spark's workers.

    Parameters
    ----------
    files
        A serialized FileDescriptorSet.
    name
        The full name of the message.
    """

    files: bytes = field(repr=False)
    name: str

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor of the message."""
        return _descriptor(self.files, self.name)

    @property
    def message_class(self) -> type[Message]:
        """The class of its messages, in this process."""
        return GetMessageClass(self.descriptor)


@lru_cache(maxsize=32)
def _descriptor(files: bytes, name: str) -> Descriptor:
    return pool_of(files).FindMessageTypeByName(name)


@lru_cache(maxsize=32)
def pool_of(files: bytes) -> DescriptorPool:
    """A pool of the files of a set.

    Raises
    ------
    CatalogProblem
        When the bytes are no set of descriptors, or a file is missing in it.
    """
    found = {file.name: file for file in _files(files)}
    pool = DescriptorPool()
    added: set[str] = set()

    def add(name: str, wanted_by: str) -> None:
        if name in added:
            return
        added.add(name)
        file = found.get(name) or _well_known(name)
        if file is None:
            raise CatalogProblem(
                f"the descriptor set lacks the file '{name}', which '{wanted_by}' "
                "imports",
                hint="make it with protoc --include_imports --descriptor_set_out=FILE",
            )
        # A pool takes a file after those that it imports.
        for imported in file.dependency:
            add(imported, name)
        try:
            pool.Add(file)
        except TypeError as problem:
            raise CatalogProblem(
                f"the file '{name}' of the descriptor set cannot be used: {problem}"
            ) from None

    for name in found:
        add(name, name)
    return pool


def file_names(files: bytes) -> list[str]:
    """The names of the files of a set, as imports have them; those that come with
    Protocol Buffers left out."""
    return [file.name for file in _files(files) if file.name not in _WELL_KNOWN]


def _files(files: bytes) -> Iterable[FileDescriptorProto]:
    try:
        found = FileDescriptorSet.FromString(files).file
    except DecodeError:
        found = None
    if not found:
        raise CatalogProblem(
            "it is no set of descriptors of Protocol Buffers",
            hint="make one with protoc --include_imports --descriptor_set_out=FILE",
        )
    return found


def _well_known(name: str) -> FileDescriptorProto | None:
    if name not in _WELL_KNOWN:
        return None
    made = FileDescriptorProto()
    _WELL_KNOWN[name].DESCRIPTOR.CopyToProto(made)
    return made


def message_schema(files: bytes, wanted: str | None) -> MessageSchema:
    """The message of a set that records have.

    Parameters
    ----------
    files
        A serialized FileDescriptorSet.
    wanted
        Its name, with its package or without; None: the only message of the file that
        no other imports.

    Raises
    ------
    CatalogProblem
        When there is no such message, or several.
    """
    pool_of(files)  # what is wrong with the files is told first
    if wanted is not None:
        return MessageSchema(files, _named(files, wanted))
    names = list(_root_messages(files))
    if len(names) == 1:
        return MessageSchema(files, names[0])
    if not names:
        raise CatalogProblem("the schema of Protocol Buffers has no message")
    listed = " or ".join(f"'{name}'" for name in names[:_LISTED])
    raise CatalogProblem(
        f"the schema of Protocol Buffers has {len(names)} messages",
        hint=f"write '{MESSAGE}' = {listed}{', ...' * (len(names) > _LISTED)}",
    )


_LISTED = 5


def _named(files: bytes, wanted: str) -> str:
    known = [name for file in _files(files) for name in _messages(file)]
    if wanted in known:
        return wanted
    found = [name for name in known if name.endswith(f".{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise CatalogProblem(
            f"'{wanted}' is the name of {len(found)} messages",
            hint="write one of them: " + ", ".join(f"'{name}'" for name in found),
        )
    raise CatalogProblem(
        f"the schema of Protocol Buffers has no message '{wanted}'",
        hint=did_you_mean(wanted, known),
    )


def _messages(file: FileDescriptorProto) -> Iterator[str]:
    """The full names of all messages of a file, but the entries of maps."""
    yield from _nested(file.package, file.message_type)


def _nested(within: str, messages: Iterable[DescriptorProto]) -> Iterator[str]:
    for message in messages:
        name = f"{within}.{message.name}" if within else message.name
        if not message.options.map_entry:
            yield name
            yield from _nested(name, message.nested_type)


def _root_messages(files: bytes) -> Iterator[str]:
    """The messages, not inside of others, of the files that no other imports."""
    found = list(_files(files))
    imported = {name for file in found for name in file.dependency}
    for file in found:
        if file.name not in imported and file.name not in _WELL_KNOWN:
            prefix = f"{file.package}." if file.package else ""
            yield from (f"{prefix}{message.name}" for message in file.message_type)


def message_indexes(descriptor: Descriptor) -> tuple[int, ...]:
    """Where a message stands in its file: its number, and before it those of the
    messages around it."""
    around = descriptor.containing_type
    if around is None:
        return (top_messages(descriptor.file).index(descriptor.full_name),)
    inner = [nested.full_name for nested in around.nested_types]
    return (*message_indexes(around), inner.index(descriptor.full_name))


def top_messages(file: FileDescriptor) -> list[str]:
    """The full names of a file's messages, in their order."""
    made = FileDescriptorProto()
    file.CopyToProto(made)
    prefix = f"{made.package}." if made.package else ""
    return [f"{prefix}{message.name}" for message in made.message_type]
