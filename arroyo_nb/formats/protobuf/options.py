"""The options of tables whose records are messages: each says where the schema is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

MESSAGE = "protobuf.message"
FILE, INCLUDE = "protobuf.file", "protobuf.include"
DESCRIPTOR_SET, TEXT = "protobuf.descriptor_set", "protobuf.schema"
REGISTRY = "protobuf.confluent_schema_registry"
SOURCES = (FILE, DESCRIPTOR_SET, TEXT)
"""The options of which a table has one, unless a schema registry has the schema."""

# Another schema of the same message reads the same rows, as fields are known by number:
# a job resumes with it.
OPTIONS = (
    Option(
        FILE,
        OptionKind.STRING,
        "a .proto file that defines the message; it is compiled when a run starts",
        holds=Holds.PATH,
        in_identity=False,
        in_arroyo=False,
    ),
    Option(
        INCLUDE,
        OptionKind.STRING,
        "folders that the imports of protobuf.file are looked up in, with commas "
        "between; its own folder is one of them",
        holds=Holds.PATH,
        in_identity=False,
        in_arroyo=False,
    ),
    Option(
        DESCRIPTOR_SET,
        OptionKind.STRING,
        "a file of compiled descriptors, as protoc --include_imports "
        "--descriptor_set_out writes it",
        holds=Holds.PATH,
        in_identity=False,
        in_arroyo=False,
    ),
    Option(
        TEXT,
        OptionKind.STRING,
        "the text of a .proto file",
        in_identity=False,
        in_arroyo=False,
    ),
    Option(
        MESSAGE,
        OptionKind.STRING,
        "the message that a record is, where the schema has several",
        in_arroyo=False,
    ),
    Option(
        REGISTRY,
        OptionKind.BOOL,
        "whether a record starts with the id of its schema in Confluent's registry and "
        "the place of its message in it; where no other option says the schema, the "
        "newest of the registry is taken",
        default=False,
        in_arroyo=False,
    ),
)


def source_option(options: Mapping[str, OptionValue]) -> str:
    """The option that says the schema; for errors, where none does, the format."""
    found = next((name for name in SOURCES if name in options), None)
    return found or (REGISTRY if options.get(REGISTRY) else "format")


def check_sources(options: Mapping[str, OptionValue]) -> None:
    """Make sure that one option says the schema.

    Raises
    ------
    CatalogProblem
        When none does, or several.
    """
    given = [name for name in SOURCES if name in options]
    if len(given) > 1:
        raise CatalogProblem(
            f"at most one of '{given[0]}' and '{given[1]}' may be set",
            hint="each says the schema of a record",
        )
    if not given and not options.get(REGISTRY):
        raise CatalogProblem(
            "a table of the format 'protobuf' needs the schema of its records",
            hint=f"write '{FILE}' = 'path/to/file.proto', '{DESCRIPTOR_SET}', "
            f"'{TEXT}' or '{REGISTRY}' = true",
        )
    if INCLUDE in options and FILE not in options:
        raise CatalogProblem(
            f"'{INCLUDE}' is only of use with '{FILE}'", hint="remove it"
        )


def include_folders(options: Mapping[str, OptionValue]) -> list[Path]:
    """The folders that imports are looked up in."""
    names = str(options.get(INCLUDE, "")).split(",")
    return [Path(name.strip()) for name in names if name.strip()]
