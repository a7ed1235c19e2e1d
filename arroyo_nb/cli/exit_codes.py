"""Exit statuses of the command, and which error stands for which."""

from __future__ import annotations

import signal

from arroyo_nb.errors import (
    ArroyoError,
    CatalogProblem,
    DataProblem,
    PlanProblem,
    PromoteProblem,
    SyntaxProblem,
)

FINISHED, FAILED, USAGE, PLAN, DATA = 0, 1, 2, 3, 4
STOPPED = 128
"""And the number of the signal: 130 by SIGINT, 143 by SIGTERM or `arroyo-nb stop`."""

INTERRUPTED = STOPPED + signal.SIGINT
EXIT_CODES = """\
exit codes:
  0    finished; of check and diff: nothing found
  1    failed while it ran; of check, diff and status --ready: found, or not so
  2    wrong usage: an option, a command, or a file that cannot be read
  3    plan error: the script or the job cannot be run as it is written
  4    data error: a value that cannot be read, computed, converted or written
  130  stopped by SIGINT (Ctrl-C); a job keeps its state and resumes from it
  141  nobody reads its output any more
  143  stopped by SIGTERM or 'arroyo-nb stop'; as by SIGINT, a job keeps its state
"""
SEE_CODES = "exit codes: arroyo-nb --help"
_PLAN_ERRORS = (SyntaxProblem, CatalogProblem, PlanProblem, PromoteProblem)


class UsageProblem(ArroyoError):
    """An option that the file has no use for, or a file that cannot be read."""


def exit_code(error: ArroyoError) -> int:
    """The worst that an error stands for."""
    for kinds, code in (
        (UsageProblem, USAGE),
        (_PLAN_ERRORS, PLAN),
        (DataProblem, DATA),
    ):
        if any(isinstance(problem, kinds) for problem in error.problems):
            return code
    return FAILED
