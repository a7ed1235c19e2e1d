"""The crate that a Rust UDF is compiled in, as Arroyo writes it, with our entry.

::

    Cargo.toml              crate "udf": a cdylib with arroyo-udf-plugin
    Cargo.lock              versions that are known to compile
    src/lib.rs              the user's source as it is, and at its end `mod`
    src/__arroyo_nb/        what a worker calls, of glue/: entry.rs as mod.rs,
                            panics.rs, and as call.rs one of rows, groups and async
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from arroyo_nb.errors import RunProblem
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs.definition import Kind
from arroyo_nb.udfs.rust.dependencies import PLUGIN, read_dependencies
from arroyo_nb.with_options import REFERENCE, substituted

MANIFEST, LOCK, SOURCE = "Cargo.toml", "Cargo.lock", "src/lib.rs"

_MODULE = "__arroyo_nb"
_GLUE = Path(__file__).parent / "glue"
_CALLS = {Kind.ROWS: "rows.rs", Kind.VALUES: "groups.rs", Kind.ASYNC: "async.rs"}

_MANIFEST = """\
[package]
name = "udf"
version = "1.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[workspace]

[dependencies]
{plugin} = "^0.2.0"
{dependencies}
{profile}"""
# An empty workspace: a Cargo.toml in a folder around the cache is not asked.


@dataclass(frozen=True)
class Crate:
    """What is compiled for a function.

    Parameters
    ----------
    name
        Of the function, in lower case.
    kind
        How it is called.
    source
        Where it is defined.
    """

    name: str
    kind: Kind
    source: ScriptText

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The texts of its files, by their paths. Of the environment variables that a
        dependency names, ``{{ NAME }}``, only the names are in them."""
        manifest = _MANIFEST.format(
            plugin=PLUGIN,
            dependencies=read_dependencies(self.source),
            profile=_glue("profile.toml"),
        )
        module = f"src/{_MODULE}"
        return {
            MANIFEST: manifest,
            LOCK: _glue(LOCK),
            # A line of its own: the source may end in a comment.
            SOURCE: f"{self.source.text}\n#[doc(hidden)]\nmod {_MODULE};\n",
            f"{module}/mod.rs": _glue("entry.rs"),
            f"{module}/panics.rs": _glue("panics.rs"),
            f"{module}/call.rs": _glue(_CALLS[self.kind]),
        }

    @cached_property
    def digest(self) -> str:
        """Of all that its library depends on, the compiler aside: its files, and the
        kind of machine."""
        parts = (sys.platform, platform.machine(), *sum(self.files.items(), ()))
        sizes = (f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256("".join(sizes).encode("utf-8", "replace")).hexdigest()

    @property
    def library_name(self) -> str:
        """The name of its library's file."""
        return f"{self.name}_{self.digest[:16]}.so"

    def write(self, folder: Path) -> Path:
        """Write its files into a folder of its own there.

        The folder goes by the name: when a function has changed, its library takes the
        place of the earlier one in the folder of the compiler, and the versions of its
        dependencies stay as they are.

        Raises
        ------
        RunProblem
            When a dependency names an environment variable that is not set.
        OSError
            When a file cannot be written.
        """
        pinned = hashlib.sha256(self.files[LOCK].encode()).hexdigest()
        own = folder / f"{self.name}_{pinned[:8]}"
        for path, text in self.files.items():
            file = own / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path == LOCK and file.exists():
                continue
            if path == MANIFEST:
                text = self._with_variables(text)
            # What has not changed keeps its time: cargo goes by that.
            written = text.encode("utf-8", "replace")
            if not file.exists() or file.read_bytes() != written:
                file.write_bytes(written)
        return own

    def _with_variables(self, manifest: str) -> str:
        for variable in REFERENCE.findall(manifest):
            if variable not in os.environ:
                raise RunProblem(
                    f"the environment variable '{variable}' is not set; the "
                    f"[dependencies] of the Rust UDF '{self.name}' need it",
                    hint=f"set it first, in a notebook with %env {variable}=...",
                )
        return substituted(manifest)


def _glue(name: str) -> str:
    return (_GLUE / name).read_text(encoding="utf-8")
