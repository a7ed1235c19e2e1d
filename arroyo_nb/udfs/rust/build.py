"""Compiling a function to a library, once for each content.

All functions are compiled in one folder, one after the other: the crates that they
depend on are compiled once. A library is kept by the digest of all it is made of, and
no file of one is ever written again: a process may have it loaded.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from arroyo_nb.errors import RunProblem, raise_all
from arroyo_nb.udfs.rust.compiler_messages import CargoOutput
from arroyo_nb.udfs.rust.crate import Crate
from arroyo_nb.udfs.rust.fetching import fetch_dependencies
from arroyo_nb.udfs.rust.progress import Progress, Tell, tell_stderr
from arroyo_nb.udfs.rust.toolchain import Toolchain, find_toolchain
from arroyo_nb.udfs.rust.workspace import Workspace, cannot_write, open_workspace

_carried: list[Path] = []


def use_libraries(folder: Path) -> None:
    """Take libraries from a folder too, copies of what :func:`compile_crate` gives: a
    machine that runs a job needs no compiler."""
    if folder not in _carried:
        _carried.append(folder)


def compile_crate(crate: Crate, *, tell: Tell = tell_stderr) -> Path:
    """The library of a function, compiled unless there is one of the same content.

    Parameters
    ----------
    crate
        What is compiled.
    tell
        Called with lines that say how far it is, when it takes a while.

    Returns
    -------
    Path
        The library's file, whose name goes by the content.

    Raises
    ------
    ArroyoError
        For each error of the compiler, with its place in the source; when there is no
        cargo, when crates cannot be downloaded, when the folder cannot be written.
    """
    for folder in _carried:  # who runs a job need have no cache, and no compiler
        if (file := folder / crate.library_name).exists():
            return file
    workspace = open_workspace()
    toolchain = find_toolchain()
    library = _kept(crate, workspace, toolchain)
    if library is not None:
        return library
    if toolchain is None:
        raise RunProblem(
            f"the Rust UDF '{crate.name}' cannot be compiled: there is no cargo on "
            "this machine",
            hint="install Rust (https://rustup.rs), or build the job on a machine that "
            "has it: a job carries the compiled library",
        )
    try:
        with workspace.locked(tell):
            # Another process may have compiled it in the meantime.
            return _kept(crate, workspace, toolchain) or _compile(
                crate, workspace, toolchain, tell
            )
    except OSError as error:
        raise cannot_write(error, workspace.folder) from None


def _kept(
    crate: Crate, workspace: Workspace, toolchain: Toolchain | None
) -> Path | None:
    """A library of that content: of this compiler; without one, of any."""
    compiler = "*" if toolchain is None else toolchain.name
    found = workspace.libraries.glob(f"{compiler}/{crate.library_name}")
    return next(found, None)


def _compile(
    crate: Crate, workspace: Workspace, toolchain: Toolchain, tell: Tell
) -> Path:
    folder = crate.write(workspace.crates)
    target = workspace.target
    total = fetch_dependencies(crate, folder, target, toolchain, tell)
    output = CargoOutput(crate, folder)
    progress = Progress(tell)

    def on_line(line: str) -> None:
        output.read(line)
        done = len(output.compiled)
        progress.at(
            lambda: f"compiling the Rust UDF '{crate.name}': {done} of {total} crates"
        )

    build = ["build", "--release", "--offline", "--message-format=json"]
    built = toolchain.run(build, folder, target, on_line)
    raise_all(output.problems() if not built.succeeded else ())
    if not built.succeeded or output.library is None:
        said = [line for line in built.said.splitlines() if line.startswith("error")]
        reason = said[0].removeprefix("error: ") if said else "cargo failed"
        raise RunProblem(f"the Rust UDF '{crate.name}' cannot be compiled: {reason}")
    return _copy(
        output.library, workspace.libraries / toolchain.name / crate.library_name
    )


def _copy(library: Path, to: Path) -> Path:
    """A copy that is whole or not there."""
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(library.read_bytes())
            file.flush()
            # A rename may reach the disk before what was written does.
            os.fsync(file.fileno())
        draft.replace(to)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return to
