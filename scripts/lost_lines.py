"""Which lines of the package one test run has reached and another has not.

``python scripts/lost_lines.py BEFORE AFTER``: two files that ``make covered`` has made.
Exits with 1 where lines are lost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parents[1]


def reached(file: Path) -> dict[str, set[int]]:
    """The lines of each module that were run."""
    data = CoverageData(str(file))
    data.read()
    return {
        name[name.index("arroyo_") :]: set(data.lines(name) or ())
        for name in data.measured_files()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args(arguments)
    before, after = reached(given.before), reached(given.after)
    count = 0
    for name in sorted(before):
        lines = (ROOT / name).read_text().splitlines()
        for line in sorted(before[name] - after.get(name, set())):
            print(f"{name}:{line}: {lines[line - 1].strip()}")
            count += 1
    every = [sum(map(len, found.values())) for found in (before, after)]
    print(f"{count:,} lines lost; reached before {every[0]:,}, after {every[1]:,}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
