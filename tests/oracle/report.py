"""Many cases compared, and how they differ by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from oracle import ours, theirs
from oracle.cases import Case, Outcome
from oracle.comparison import Verdict, compare
from oracle.differences import deliberate

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine

NOT_YET = Path(__file__).with_name("not_yet.tsv")
"""Kinds of differences that are not yet mended: kind, verdict and smallest case."""

AT_ONCE = 2000

Key: TypeAlias = tuple[str, str]
"""A kind of case, and how it differs."""


@dataclass(frozen=True)
class Compared:
    """A case and both outcomes."""

    case: Case
    ours: Outcome
    theirs: Outcome

    @property
    def verdict(self) -> Verdict:
        return compare(self.ours, self.theirs)

    @property
    def key(self) -> Key:
        return (self.case.kind, self.verdict.value)

    def __str__(self) -> str:
        return f"{self.case}: {self.ours} -> {self.theirs}"


@dataclass
class Report:
    """What was found.

    Parameters
    ----------
    kinds
        Differences that no name allows: how many there are, and the smallest.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    counts: Counter[Key] = field(default_factory=Counter)
    kinds: dict[Key, Compared] = field(default_factory=dict)

    def add(self, found: Compared, name: str = "") -> None:
        """Count a case, with the name of the difference where it is known."""
        self.verdicts[found.verdict.value] += 1
        if found.verdict.agrees:
            return
        name = name or deliberate(found.case, found.ours, found.theirs)
        if name:
            self.named[name] += 1
            return
        key = found.key
        self.counts[key] += 1
        if key not in self.kinds or found.case.size < self.kinds[key].case.size:
            self.kinds[key] = found


def compared(engine: Engine, cases: Sequence[Case]) -> list[Compared]:
    """Both outcomes of each case."""
    there = [theirs.evaluate(case) for case in cases]
    # What fails there on the row is likely to fail here.
    failing = [n for n, outcome in enumerate(there) if outcome.failure]
    here = ours.evaluate(engine, cases, alone=failing)
    return [Compared(*row) for row in zip(cases, here, there, strict=True)]


def report(engine: Engine, cases: Iterable[Case]) -> Report:
    """Compare all. What differs because a part of it does counts as the part's."""
    result = Report()
    for chunk in _chunks(cases):
        found = compared(engine, chunk)
        parts = {
            str(part): part
            for one in found
            if not one.verdict.agrees
            for part in one.case.parts
        }
        of_parts = {
            str(one.case): one for one in compared(engine, list(parts.values()))
        }
        for one in found:
            wrong = [
                of_parts[str(part)]
                for part in one.case.parts
                if not one.verdict.agrees and not of_parts[str(part)].verdict.agrees
            ]
            result.add(min(wrong, key=lambda w: w.case.size) if wrong else one)
    return result


def _chunks(cases: Iterable[Case]) -> Iterator[list[Case]]:
    chunk: list[Case] = []
    for case in cases:
        chunk.append(case)
        if len(chunk) == AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def table(result: Report) -> str:
    """The differences by kind, the most frequent first."""
    lines = [f"{count:6} {name}" for name, count in result.verdicts.most_common()]
    lines += [f"{n:6} deliberate: {name}" for name, n in result.named.most_common()]
    lines.append(f"{len(result.kinds)} kinds that no name allows:")
    for key, count in result.counts.most_common():
        kind, verdict = key
        lines.append(f"{count:6} {kind} | {verdict} | {result.kinds[key]}")
    return "\n".join(lines)


def not_yet(path: Path = NOT_YET) -> dict[Key, str]:
    """The kinds that are not yet mended, and a case of each."""
    rows = (line.split("\t") for line in path.read_text().splitlines() if line)
    return {(kind, verdict): case for kind, verdict, case in rows}


def write_not_yet(kinds: dict[Key, str], path: Path = NOT_YET) -> None:
    """Write the kinds, sorted."""
    lines = ["\t".join((*key, case)) for key, case in sorted(kinds.items())]
    path.write_text("".join(f"{line}\n" for line in lines))


def one_line(found: Compared) -> str:
    """A case for the file."""
    return str(found)[:300].replace("\t", " ").replace("\n", "\\n").replace("\r", "\\r")
