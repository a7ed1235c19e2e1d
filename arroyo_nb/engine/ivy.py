"""Get jars from a repository, with the Ivy that lies among PySpark's jars.

Ivy asks the repository that it knows by itself. It runs in a process of its own,
which whoever waits for it can end at any time.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from html import escape
from itertools import islice
from pathlib import Path

from arroyo_nb.engine.command import spark_home
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import default_base
from arroyo_nb.engine.jar_coordinates import Coordinates
from arroyo_nb.engine.java import Java
from arroyo_nb.engine.program import Program

LOOK_S = 0.05
"""How often who waits looks whether it should go on."""

# Java waits for ever by default.
_FLAGS = (
    "-Dsun.net.client.defaultConnectTimeout=10000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)

_TRUST_STORES = ("/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts")
"""Where Debian and Fedora keep the certificates that the machine trusts, for Java. That
of a company's proxy is among them, and a Java from a wheel does not know it."""

_ARRIVED = "[SUCCESSFUL ]"
_NOT_FOUND = re.compile(r":: (\S+)#(\S+);(\S+): not found")
_NOT_TRUSTED = "PKIX path building failed"


def retrieve(
    java: Java,
    wanted: Iterable[Coordinates],
    work: Path,
    *,
    without: Collection[str] | None,
    check: Callable[[], None],
    arrived: Callable[[int], None],
) -> list[Path]:
    """Get jars into a folder; returns where they are.

    Parameters
    ----------
    java
        What runs Ivy.
    wanted
        The jars.
    work
        An empty folder; it also gets what Ivy keeps for itself.
    without
        What they depend on comes too, except these artifacts. None: nothing comes, and
        Ivy looks at no description or checksum: for jars whose checksums are known.
    check
        Is called again and again; what it raises ends the process.
    arrived
        Is told how many there are, when there are more.

    Raises
    ------
    EngineProblem
        When not all of them can be had; it says which.
    """
    # Ivy takes brackets for parts of its patterns, and a colon for that of an address:
    # it is given a link to the folder.
    with tempfile.TemporaryDirectory(dir=default_base()) as plain:
        link = Path(plain) / "work"
        link.symlink_to(work.absolute())
        _run(java, _module(wanted, without), link, without is None, check, arrived)
    return sorted((work / "jars").glob("*.jar"))


def _run(
    java: Java,
    text: str,
    work: Path,
    alone: bool,
    check: Callable[[], None],
    arrived: Callable[[int], None],
) -> None:
    settings, module, out = work / "settings.xml", work / "ivy.xml", work / "jars"
    settings.write_text(_settings(alone=alone), encoding="utf-8")
    module.write_text(text, encoding="utf-8")
    program = Program(
        java,
        "org.apache.ivy.Main",
        *("-settings", str(settings), "-cache", str(work / "cache")),
        *("-ivy", str(module), "-confs", "default", "-types", "jar", "bundle"),
        *("-retrieve", f"{out}/[artifact]-[revision].[ext]"),
        jars=(spark_home() / "jars").glob("ivy-*.jar"),
        log=work / "ivy.log",
        # What comes later holds: a user's own choice comes last.
        flags=(
            *_FLAGS,
            *_trust(_TRUST_STORES),
            *os.environ.get("ARROYO_NB_JAVA_OPTS", "").split(),
        ),
    )
    _watch(program, check, arrived)
    if program.status != 0:
        raise _failure(_text(program))


def _trust(stores: Iterable[str]) -> list[str]:
    """The first of these stores that can be read, as an option of Java."""
    found = (store for store in stores if os.access(store, os.R_OK))
    return [f"-Djavax.net.ssl.trustStore={store}" for store in islice(found, 1)]


def _watch(
    program: Program, check: Callable[[], None], arrived: Callable[[int], None]
) -> None:
    told = 0
    try:
        while program.alive:
            check()
            if (count := _text(program).count(_ARRIVED)) > told:
                told = count
                arrived(count)
            time.sleep(LOOK_S)
    finally:
        program.kill()


def _failure(log: str) -> EngineProblem:
    missing = sorted({":".join(found) for found in _NOT_FOUND.findall(log)})
    if missing and _NOT_TRUSTED in log:
        return EngineProblem(
            "Java does not trust the certificate of the repository of jars",
            hint="name a store that has it, a proxy's for example: "
            "ARROYO_NB_JAVA_OPTS=-Djavax.net.ssl.trustStore=FILE",
        )
    if missing:
        return EngineProblem(
            f"the repository has no {', '.join(missing)}, or cannot be reached"
        )
    last = "".join(log.strip().splitlines()[-1:]).strip()
    return EngineProblem(f"Ivy failed{': ' if last else ''}{last}")


def _text(program: Program) -> str:
    return program.log.read_text(encoding="utf-8", errors="replace")


def _settings(*, alone: bool) -> str:
    plain = ' usepoms="false" checksums="none"' if alone else ""
    return f"""\
<ivysettings>
  <settings defaultResolver="default"/>
  <resolvers><ibiblio name="default" m2compatible="true"{plain}/></resolvers>
</ivysettings>
"""


def _module(wanted: Iterable[Coordinates], without: Collection[str] | None) -> str:
    conf = 'transitive="false"' if without is None else 'conf="default"'
    lines = [
        f'<dependency org="{group}" name="{artifact}" rev="{version}" {conf}/>'
        for group, artifact, version in (map(escape, jar) for jar in wanted)
    ]
    lines += [f'<exclude module="{escape(name)}"/>' for name in without or ()]
    listed = "\n    ".join(lines)
    return f"""\
<ivy-module version="2.0">
  <info organisation="arroyo_nb" module="jars"/>
  <dependencies>
    {listed}
  </dependencies>
</ivy-module>
"""


def shipped() -> list[str]:
    """The artifacts that PySpark has."""
    names = (jar.stem for jar in (spark_home() / "jars").glob("*.jar"))
    return sorted({re.sub(r"-\d.*", "", name) for name in names})
