"""The crates that a function depends on: found on this machine, else downloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path

from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.udfs.rust.crate import Crate
from arroyo_nb.udfs.rust.progress import Tell
from arroyo_nb.udfs.rust.toolchain import Toolchain

_UNREACHED = re.compile(
    r"could not resolve host|failed to connect|could not connect|timed? ?out"
    r"|network|ssl|proxy|download of|failed to download|\[\d+\] ",
    re.IGNORECASE,
)


def fetch_dependencies(
    crate: Crate, folder: Path, target: Path, toolchain: Toolchain, tell: Tell
) -> int:
    """Have the crates here that a function depends on; the network is asked only for
    what is missing.

    Returns
    -------
    int
        How many there are for this platform.

    Raises
    ------
    ArroyoError
        When one is not known, or cannot be downloaded.
    """
    lines: list[str] = []
    arguments = ["metadata", "--format-version=1", "--filter-platform", toolchain.host]
    known = toolchain.run([*arguments, "--offline"], folder, target, lines.append)
    if not known.succeeded:
        tell(f"downloading what the Rust UDF '{crate.name}' depends on")
        lines.clear()
        asked = toolchain.run(arguments, folder, target, lines.append)
        if not asked.succeeded:
            raise _problem(crate.name, asked.said)
    nodes = json.loads("".join(lines))["resolve"]["nodes"]
    return len(nodes) - 1


def _problem(name: str, said: str) -> CatalogProblem | RunProblem:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    first = (errors or lines or ["cargo failed"])[0].removeprefix("error: ")
    # The causes stand below, the deepest one last.
    start = lines.index(errors[0]) + 1 if errors else 0
    # Who requires it says nothing: it is the function.
    said_before = ("Caused by:", "required by package `udf ", "location searched:")
    causes = [line for line in lines[start:] if not line.startswith(said_before)]
    reason = causes[-1] if causes else first
    if _UNREACHED.search(said) and "no matching package" not in said:
        return RunProblem(
            f"the crates that the Rust UDF '{name}' depends on cannot be downloaded: "
            f"{reason}",
            hint="cargo needs its registry once; what was downloaded is kept",
        )
    return CatalogProblem(
        f"the [dependencies] of the Rust UDF '{name}' cannot be met: {first}",
        hint=reason if reason != first else None,
    )
