"""Resolve the pinned sets of jars anew and write their checksums down.

Needs the repository; run it when a version below changes, and look at the difference::

    python scripts/pin_jars.py
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from arroyo_nb.engine import ivy
from arroyo_nb.engine.jar_coordinates import PINS, Coordinates, parse_coordinates
from arroyo_nb.engine.jars import BROKER, CONNECTOR, go_on
from arroyo_nb.engine.java import find_java

# The newest release of which the repository has all jars. What it depends on comes with
# it, in the versions that it was released with: nothing is chosen one by one.
CONNECTOR_JAR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
BROKER_JAR = "org.apache.kafka:kafka_2.13:4.3.1"


def resolved(
    wanted: str, *, without: Collection[str]
) -> Iterator[tuple[Coordinates, str]]:
    """A jar, what it depends on but these artifacts, and the SHA-256 of each."""
    asked = [parse_coordinates(wanted)]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        files = ivy.retrieve(
            find_java(), asked, work, without=without, check=go_on, arrived=print
        )
        for file in files:
            # Ivy's own folders tell the group: GROUP/ARTIFACT/jars/FILE.
            kept = next((work / "cache").glob(f"*/*/*/{file.name}"))
            artifact, group = kept.parts[-3], kept.parts[-4]
            version = file.stem.removeprefix(f"{artifact}-")
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            yield Coordinates(group, artifact, version), digest


def write(name: str, first: str, sums: Iterator[tuple[Coordinates, str]]) -> None:
    """Write a file of pins; the jar that gives the set its version comes first."""
    lines = sorted(f"{jar} {digest}" for jar, digest in sums)
    lines.sort(key=lambda line: not line.startswith(first))
    (PINS / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


def main() -> None:
    """Write all of them."""
    connector = resolved(CONNECTOR_JAR, without=ivy.shipped())  # PySpark has those
    write(CONNECTOR.name, CONNECTOR_JAR, connector)
    write(BROKER.name, BROKER_JAR, resolved(BROKER_JAR, without=()))


if __name__ == "__main__":
    main()
