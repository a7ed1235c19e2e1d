"""What the doctor says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that explains a result.

    Parameters
    ----------
    code
        The situation, as ``filtered``.
    message
        What is wrong, with its name and place, and why: one sentence, lower case,
        without a full stop.
    hint
        The one thing to do.
    """

    code: str
    message: str
    hint: str


@dataclass(frozen=True, repr=False)
class Report:
    """What the doctor found of one run.

    Parameters
    ----------
    name
        The run's.
    rows_in, rows_out
        How many rows came in, and out.
    findings
        The nearest cause first; none: nothing is wrong.
    looked_at
        Which rows were read again, in a sentence; empty: none were.
    """

    name: str
    rows_in: int
    rows_out: int
    findings: tuple[Finding, ...] = ()
    looked_at: str = ""

    @property
    def answer(self) -> Finding | None:
        """The first finding."""
        return self.findings[0] if self.findings else None

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.rows_in:,} rows in, {self.rows_out:,} rows out"]
        if not self.findings:
            lines.append(NOTHING_WRONG)
        for number, finding in enumerate(self.findings, start=1):
            lines += [f"{number}. {finding.message}", f"   hint: {finding.hint}"]
        return "\n".join(map(_printable, filter(None, [*lines, self.looked_at])))

    __repr__ = __str__


NOTHING_WRONG = "nothing is wrong, as far as the run knows"


def _printable(text: str) -> str:
    """A text that no terminal acts on: values of the user's data are in it."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
