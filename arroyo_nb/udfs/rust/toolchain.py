"""Where cargo is, and running it: so that nothing of it outlives an interrupt."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.errors import RunProblem

_WAIT_S = 5.0
"""How long cargo may take to end when it is asked to."""


class Finished(NamedTuple):
    """How a run of cargo ended.

    Attributes
    ----------
    succeeded
        Whether it did what it was asked to.
    said
        What it wrote to its error output.
    """

    succeeded: bool
    said: str


@dataclass(frozen=True)
class Toolchain:
    """A cargo, and the compiler that it calls.

    Parameters
    ----------
    cargo
        The program.
    version
        What ``cargo -vV`` says.
    """

    cargo: Path
    version: str

    @property
    def host(self) -> str:
        """The platform it compiles for, such as ``x86_64-unknown-linux-gnu``."""
        return self._said("host")

    @property
    def name(self) -> str:
        """What tells one compiler from another, as the name of a folder."""
        return "-".join(map(self._said, ("release", "commit-hash", "host")))

    def _said(self, key: str) -> str:
        pairs = (line.partition(": ") for line in self.version.splitlines())
        return next((value for name, _, value in pairs if name == key), "unknown")

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        target: Path,
        on_line: Callable[[str], None],
    ) -> Finished:
        """Run cargo; whatever ends this ends cargo and its compilers too.

        Parameters
        ----------
        arguments
            Its command and options.
        folder
            The crate's.
        target
            Where all crates are compiled.
        on_line
            Called with each line of its output.
        """
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [self.cargo, *arguments],
                cwd=folder,
                env=_environment(self.cargo, target),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                errors="replace",
                # A group of its own: an interrupt of a terminal reaches us alone, and
                # we end the compilers that cargo has started with it.
                start_new_session=True,
            )
            with process:
                assert process.stdout is not None
                try:
                    for line in process.stdout:
                        on_line(line)
                except BaseException:
                    _end_group(process)
                    raise
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
        return Finished(process.returncode == 0, said)


def find_toolchain() -> Toolchain | None:
    """The cargo of this user; None: there is none.

    Raises
    ------
    RunProblem
        When it is there, and does not run.
    """
    homes = [Path(home)] if (home := os.environ.get("CARGO_HOME")) else []
    with suppress(RuntimeError):  # a container's user may have none
        homes.append(Path.home() / ".cargo")
    folders = [os.environ.get("PATH", ""), *(str(home / "bin") for home in homes)]
    found = shutil.which("cargo", path=os.pathsep.join(folders))
    return None if found is None else _toolchain(Path(found))


@cache
def _toolchain(cargo: Path) -> Toolchain:
    asked = subprocess.run([cargo, "-vV"], capture_output=True, text=True, check=False)
    if asked.returncode:
        said = asked.stderr.strip().partition("\n")[0].removeprefix("error: ")
        raise RunProblem(
            f"'{cargo}' does not run: {said}", hint="run: rustup default stable"
        )
    return Toolchain(cargo, asked.stdout)


def _environment(cargo: Path, target: Path) -> dict[str, str]:
    path = os.pathsep.join((str(cargo.parent), os.environ.get("PATH", os.defpath)))
    return {
        **os.environ,
        "PATH": path,  # cargo looks there for rustc
        "CARGO_TARGET_DIR": str(target),
        "CARGO_TERM_COLOR": "never",
        "CARGO_TERM_PROGRESS_WHEN": "never",
        # A variable of the user's would come before the crate's profile.
        "CARGO_PROFILE_RELEASE_PANIC": "unwind",
    }


def _end_group(process: subprocess.Popen[str]) -> None:
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sent)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_WAIT_S)
