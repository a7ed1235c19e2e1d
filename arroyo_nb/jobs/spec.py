"""The spec of a job: all that is needed to run a script, as text that is reviewed.

A spec is YAML that ``job.schema.json`` describes. Reading it executes nothing, and the
values of environment variables are never in it. What is written is read back as the
same spec, and written again as the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arroyo_nb.jobs import yaml_values as document
from arroyo_nb.run.options import DEFAULTS, RunOptions, job_options
from arroyo_nb.with_options import REFERENCE

VERSION = 1
SPEC_OF_A_SCRIPT = (
    "write a job.yaml with three keys: version: 1, name: NAME, and sql: | with the "
    "script below it"
)
STATE = "state"
"""Where the checkpoint is where the spec does not say: beside it."""

SEPARATOR = "\n;\n"
"""Between the texts of a script: a text may end with a comment."""


class TableDefinition(NamedTuple):
    """A table or view of an earlier cell, and the one statement that makes it."""

    name: str
    sql: str


@dataclass(frozen=True)
class Udf:
    """A function that is not built in; it is never run when a spec is read.

    Parameters
    ----------
    language
        ``python`` or ``rust``.
    source
        Its text.
    """

    name: str
    language: str
    source: str

    @property
    def sha256(self) -> str:
        """Of its source, in hexadecimal digits."""
        return hashlib.sha256(self.source.encode()).hexdigest()


class Origin(NamedTuple):
    """The cell that a job was made of: the notebook's path from the spec's folder, and
    the cell's id or the name of its run."""

    notebook: str
    cell: str


@dataclass(frozen=True)
class JobSpec:
    """A job, apart from any notebook.

    Parameters
    ----------
    name
        What the job and its state are called.
    sql
        The script, as it stands in its cell.
    tables
        What earlier cells declared and the script uses, in an order that can be run.
    origin
        The cell that it was made of.
    options
        How it is run, as far as a spec can say it.
    state
        Folder of the checkpoint, from the spec's own.
    udfs
        Functions that the script calls.
    packages
        Versions that it was made with.
    tags
        Labels.
    """

    name: str
    sql: str
    tables: tuple[TableDefinition, ...] = ()
    origin: Origin | None = None
    options: RunOptions = DEFAULTS
    state: str = STATE
    udfs: tuple[Udf, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """All of it as one script, which needs no other tables."""
        return SEPARATOR.join((*(table.sql for table in self.tables), self.sql))

    @property
    def environment(self) -> tuple[str, ...]:
        """The environment variables that the script names, sorted."""
        return tuple(sorted(set(REFERENCE.findall(self.script))))

    @property
    def text(self) -> str:
        """The spec as YAML; what is as it is by default is left out."""
        parts: dict[str, Any] = {
            "version": VERSION,
            "name": self.name,
            "origin": self.origin and self.origin._asdict(),
            "tags": dict(self.tags),
            "options": _options_data(self.options),
            "state": self.state,
            "environment": list(self.environment),
            "packages": dict(self.packages),
            "udfs": [_udf_data(udf) for udf in self.udfs],
            "tables": [table._asdict() for table in self.tables],
            "sql": self.sql,
        }
        return document.write({key: value for key, value in parts.items() if value})


def _options_data(options: RunOptions) -> dict[str, Any]:
    """The options that are not as they are by default, as the file has them."""
    return {
        row.job_key: row.write(value)
        for row, value in job_options(options)
        if value != getattr(DEFAULTS, row.field)
    }


def _udf_data(udf: Udf) -> dict[str, str]:
    return {
        "name": udf.name,
        "language": udf.language,
        "source": udf.source,
        "sha256": udf.sha256,
    }
