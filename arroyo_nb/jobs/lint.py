"""What production would do differently, before it does: findings of a job's rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from arroyo_nb.errors import ArroyoError, PromoteProblem, raise_all
from arroyo_nb.jobs.rules import RULES, LintedJob, LintRule, Severity
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.plan import Plan
from arroyo_nb.registry import did_you_mean
from arroyo_nb.source import ScriptText, Span

ALL = "all"
"""What denies every finding, whatever its code."""

_INTRODUCTION = """\
# Production readiness: what would behave differently

`%arroyo promote` and `arroyo-nb check` report these findings of a job; `--deny CODE`
makes one of them an error. A job with an error is not promoted.
"""


@dataclass(frozen=True)
class Finding:
    """What a rule has found in a job.

    Parameters
    ----------
    message
        One sentence.
    source, span
        The spec, and the place in it where there is one.
    """

    rule: LintRule
    message: str
    source: ScriptText
    span: Span | None

    @property
    def row(self) -> int:
        """The line in the spec, from 1; 0 where it has no place."""
        at = self.span
        return 0 if at is None else self.source.place(at.start)[0]

    @property
    def place(self) -> str:
        """``file:line:column``, or the file."""
        if self.span is None:
            return self.source.name
        line, column = self.source.place(self.span.start)
        return f"{self.source.name}:{line}:{column}"

    @property
    def line(self) -> str:
        """All of it in one line."""
        severity = self.rule.severity.value
        return f"{self.place}: {severity}: {self.message} [{self.rule.code}]"

    @property
    def excerpt(self) -> str:
        """The line of the spec, with carets under it; empty where it has no place."""
        return "" if self.span is None else self.source.excerpt(self.span)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.line, self.excerpt)))


def lint(file: JobFile, plan: Plan) -> list[Finding]:
    """What every rule finds, what matters most first, then in the order of the script.

    Parameters
    ----------
    plan
        That of the file.
    """
    job = LintedJob(file.spec, plan)
    found = (
        Finding(rule, hit.message, file.source, hit.span and file.place(hit.span))
        for rule in RULES
        for hit in rule.check(job)
    )
    # A node with several readers is met by each.
    return sorted(dict.fromkeys(found), key=_rank)


def _rank(finding: Finding) -> tuple[int, int]:
    start = -1 if finding.span is None else finding.span.start
    return list(Severity).index(finding.rule.severity), start


DENIED = "--deny makes this an error: nothing was written"


def denied(findings: Iterable[Finding], codes: Collection[str]) -> list[Finding]:
    """Those that are errors, by themselves or because their code is denied.

    Raises
    ------
    PromoteProblem
        When a code is none.
    """
    known = [rule.code for rule in RULES]
    for code in codes:
        if code not in (ALL, *known):
            hint = did_you_mean(code, known)
            raise PromoteProblem(f"there is no rule '{code}'", hint=hint)
    return [
        finding
        for finding in findings
        if finding.rule.severity is Severity.ERROR
        or finding.rule.code in codes
        or ALL in codes
    ]


def refuse(findings: Iterable[Finding], codes: Collection[str] = ()) -> None:
    """Raise those that are denied.

    Raises
    ------
    PromoteProblem
        Each with its place.
    """
    errors = denied(findings, codes)
    problems = (
        PromoteProblem(
            f"{error.message} [{error.rule.code}]",
            span=error.span,
            hint=None if error.rule.severity is Severity.ERROR else DENIED,
        )
        for error in errors
    )
    try:
        raise_all(problems)
    except ArroyoError as error:
        raise error.at(errors[0].source) from None


def report(findings: Iterable[Finding]) -> str:
    """The findings and the pages of their rules, as Markdown beside the spec."""
    found = list(findings)
    lines = [
        f"- [{f.rule.code}](#{f.rule.code}) {_linked(f)}: {f.message}" for f in found
    ]
    pages = dict.fromkeys(finding.rule.page for finding in found)
    table = "\n".join(lines) or "Nothing was found."
    return "\n".join((f"{_INTRODUCTION}\n{table}\n", *pages))


def _linked(finding: Finding) -> str:
    file = Path(finding.source.name).name
    return f"[{file}:{finding.row}]({file}#L{finding.row})" if finding.row else file


def pages() -> str:
    """What every rule means, as Markdown: ``docs/reference/lint.md``."""
    return "\n".join((_INTRODUCTION, *(rule.page for rule in RULES)))
