""".proto files as sets of descriptors: protoc of grpcio-tools compiles them, in a
process of its own, as it writes what is wrong to the standard error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from arroyo_nb.errors import CatalogProblem, RunProblem

TIMEOUT_S = 30.0
"""How long protoc may take; it takes a twentieth of a second."""

MAX_KEPT = 32
"""Of so many files the descriptors are kept in a process."""

_SHOWN_ERRORS = 5

_MEANT_OTHERWISE = re.compile(r"[:;=]")
"""What separates folders on protoc's command line, or gives one another name: a path
with it would name folders that nobody has allowed."""

_WARNING = re.compile(r".*: warning:|WARNING: |[IW]\d{4} ")
"""A line that protoc, or its log, writes of a file that may be right."""


class MissingImport(CatalogProblem):
    """A file that an import names is in none of the folders."""


def has_protoc() -> bool:
    """Whether protoc is installed."""
    return find_spec("grpc_tools") is not None


def require_protoc(table: str) -> None:
    """Make sure that protoc is installed.

    Raises
    ------
    RunProblem
        When it is not.
    """
    if not has_protoc():
        raise RunProblem(
            f"the table '{table}' needs the package grpcio-tools",
            hint="pip install 'arroyo-nb[protobuf]'",
        )


def compiled_file(path: Path, includes: Sequence[Path]) -> bytes:
    """The set of descriptors of a .proto file and of all that it imports.

    Parameters
    ----------
    path
        The file.
    includes
        Folders that imports are looked up in; the file's own is another.

    Raises
    ------
    CatalogProblem
        When it does not compile, with the places.
    """
    name, folders = named_below(path, includes)
    odd = any(map(_MEANT_OTHERWISE.search, map(str, folders)))
    if odd or name.startswith(("-", "@")):
        raise CatalogProblem(
            "protoc takes no file whose name begins with '-' or '@', and no folder "
            "with ':', ';' or '=' in its path",
            hint="give it another name",
        )
    return _kept(name, folders) or _keep(name, folders)


def named_below(path: Path, includes: Sequence[Path]) -> tuple[str, tuple[Path, ...]]:
    """What protoc calls a file, and the folders that it looks names up in, in order;
    parameters as of :func:`compiled_file`."""
    # protoc takes no `..` in a name; a link stays what it is, with what lies beside it.
    path, *folders = (Path(os.path.normpath(p.absolute())) for p in (path, *includes))
    # protoc wants a file to have one name only: that below the first folder with it.
    around = next((f for f in folders if path.is_relative_to(f)), None)
    if around is None:
        around = path.parent
        folders.append(around)
    return str(path.relative_to(around)), (*folders,)


_Key: TypeAlias = "tuple[str, tuple[Path, ...]]"
_Stamps: TypeAlias = "Mapping[str, tuple[Path, int, int] | None]"


def _kept(name: str, folders: tuple[Path, ...]) -> bytes | None:
    """What was made of a file, if neither it nor what it imports has changed."""
    found = _MADE.get((name, folders))
    if found is None or _stamps(found.files, folders) != found.files:
        return None
    return found.descriptors


def _keep(name: str, folders: tuple[Path, ...]) -> bytes:
    """Compile a file: a statement asks several times for what it defines."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    begun_ns = time.time_ns()
    made = _compiled(name, folders)
    files = _stamps((f.name for f in FileDescriptorSet.FromString(made).file), folders)
    # One that has changed meanwhile may be another than the one that was read.
    if all(stamp is None or stamp[1] < begun_ns for stamp in files.values()):
        while len(_MADE) >= MAX_KEPT:
            _MADE.pop(next(iter(_MADE)), None)
        _MADE[name, folders] = _Made(files, made)
    return made


def _stamps(names: Iterable[str], folders: Sequence[Path]) -> _Stamps:
    """Which file each name stands for, when it was changed and how long it is; None:
    one that comes with protoc."""
    return {name: _stamp(name, folders) for name in names}


def _stamp(name: str, folders: Sequence[Path]) -> tuple[Path, int, int] | None:
    for folder in folders:
        try:
            found = (folder / name).stat()
        except OSError:
            continue
        # The time of its content alone is kept where a file is put in its place.
        changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
        return folder / name, changed_ns, found.st_size
    return None


@dataclass(frozen=True)
class _Made:
    """The descriptors of a file, and the files that they are of."""

    files: _Stamps
    descriptors: bytes


_MADE: dict[_Key, _Made] = {}


@lru_cache(maxsize=32)
def compiled_texts(texts: tuple[tuple[str, str], ...], root: str) -> bytes:
    """The set of descriptors of some texts, each with the name that imports call it.

    Parameters
    ----------
    texts
        Pairs of a name and a .proto text.
    root
        The name of the text that imports the others.

    Raises
    ------
    CatalogProblem
        When they do not compile, with the places.
    """
    with tempfile.TemporaryDirectory(prefix="arroyo_nb_proto_") as name:
        folder = Path(name)
        for file, text in texts:
            path = folder / file
            # The names come from a registry: none may lead out of the folder.
            if not path.resolve().is_relative_to(folder.resolve()):
                raise CatalogProblem(f"'{file}' is no name of an imported schema")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return _compiled(root, [folder])


def _compiled(name: str, folders: Sequence[Path]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="arroyo_nb_proto_") as made:
        out = Path(made) / "descriptors"
        includes = (f"--proto_path={folder}" for folder in folders)
        # The module itself adds the folder of google/protobuf.
        command = [
            *(sys.executable, "-m", "grpc_tools.protoc", *includes),
            *("--include_imports", f"--descriptor_set_out={out}", name),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise CatalogProblem(
                f"'{name}' takes longer than {TIMEOUT_S:.0f} s to compile"
            ) from None
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace")
            # Files are called as an import calls them: a path may be a secret.
            for folder in folders:
                told = told.replace(f"{folder}/", "")
            raise _refused(name, told)
        return out.read_bytes()


def _refused(name: str, told: str) -> CatalogProblem:
    """What protoc says, as ``file:line:column: what is wrong``; warnings left out."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if not _WARNING.match(line)] or lines
    shown = "; ".join(errors[:_SHOWN_ERRORS])
    message = f"the schema of Protocol Buffers '{name}' does not compile: {shown}"
    if any("File not found" in line for line in errors):
        return MissingImport(
            message,
            hint="name the folders of imported files: 'protobuf.include' = "
            "'folder, other folder'",
        )
    return CatalogProblem(message)
