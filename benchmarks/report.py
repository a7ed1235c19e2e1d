"""What a benchmark found: a table for people, JSON for machines, an exit status.

A benchmark is a function that adds its measurements to a :class:`Report`; its module
ends with ``sys.exit(main(measure))``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measurement:
    """One number.

    Attributes
    ----------
    target
        What it should reach, in the same unit; None when it is only told.
    at_most
        Is the target an upper bound? Otherwise it is a lower one.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Is the target reached? Always, where there is none."""
        if self.target is None:
            return True
        if self.at_most:
            return self.value <= self.target
        return self.value >= self.target


class Report:
    """The measurements of one benchmark, in the order they were made."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        target: float | None = None,
        at_most: bool = True,
    ) -> None:
        """Add a measurement and print its line, so that nothing is silent for long."""
        # A float of NumPy compares to what JSON does not know.
        measured = Measurement(name, float(value), unit, target, at_most)
        self.measurements.append(measured)
        print(_line(measured), flush=True)

    @property
    def met(self) -> bool:
        """Are all targets reached?"""
        return all(measured.met for measured in self.measurements)

    def to_json(self) -> str:
        """A list of {name, value, unit, target, met}."""
        keys = ("name", "value", "unit", "target")
        rows = [
            {key: asdict(measured)[key] for key in keys} | {"met": measured.met}
            for measured in self.measurements
        ]
        return json.dumps(rows, indent=1)


def main(measure: Callable[[Report], None], arguments: list[str] | None = None) -> int:
    """Run a benchmark from the command line.

    Returns
    -------
    int
        The exit status: 1 when a target is missed.
    """
    parser = argparse.ArgumentParser(description=measure.__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    report = Report()
    measure(report)
    if options.json:
        options.json.write_text(report.to_json() + "\n", encoding="utf-8")
    missed = [measured.name for measured in report.measurements if not measured.met]
    if missed:
        print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


def _line(measured: Measurement) -> str:
    line = f"{measured.name:<52} {measured.value:>12,.3f} {measured.unit:<8}"
    if measured.target is None:
        return line
    sign = "<=" if measured.at_most else ">="
    verdict = "met" if measured.met else "MISSED"
    return f"{line} {sign} {measured.target:g}: {verdict}"
