"""``arroyo-nb version``: what is installed, and which jars Spark is given."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator

from arroyo_nb.cli.arguments import Commands, add_command
from arroyo_nb.cli.exit_codes import FINISHED

PACKAGES = ("arroyo-nb", "pyspark", "sqlglot", "pyarrow", "datafusion")


def add_to(commands: Commands) -> None:
    """Add the command."""
    text = "print the versions of arroyo-nb, Spark, Java and Python"
    version = add_command(commands, "version", text, _version)
    version.add_argument(
        "--jars",
        action="store_true",
        help="also the jars of Spark's connectors and of the local broker, with their "
        "folders; nothing is downloaded",
    )


def _version(arguments: argparse.Namespace) -> int:
    from arroyo_nb.engine.errors import EngineProblem
    from arroyo_nb.engine.java import find_java
    from arroyo_nb.jobs.versions import installed

    for name in PACKAGES:
        print(f"{name} {installed(name) or 'is not installed'}")
    print(f"python {platform.python_version()}")
    try:
        java = find_java()
    except EngineProblem as problem:
        print(f"java: {problem.message}")
    else:
        print(f"java {java.version}, {java.home}")
    if arguments.jars:
        print(*_jars(), sep="\n")
    return FINISHED


def _jars() -> Iterator[str]:
    from arroyo_nb.engine.command import spark_version
    from arroyo_nb.engine.jars import used_jars

    for used in used_jars():
        place = used.place or "not downloaded yet"
        yield f"\n{used.jars.what} {used.version}: {place}"
        if used.other_than_spark:
            yield (
                f"  not Spark's own version, {spark_version()}: the newest release "
                "that the tests ran with"
            )
        yield from (f"  {file}" for file in used.files)
