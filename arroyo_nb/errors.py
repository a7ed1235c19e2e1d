"""What can go wrong, as a tree.

::

    ArroyoError
    ├── SyntaxProblem      the text is not a script of the dialect
    ├── CatalogProblem     a name, a type or an option is not known
    ├── PlanProblem        the query has no streaming plan
    │   └── Unsupported    the grammar knows it, this version does not run it
    ├── RunProblem         a plan failed while it ran
    │   ├── DataProblem    a value cannot be read, or not be written
    │   ├── StateProblem   a file of a state folder is gone or damaged
    │   └── Unreached      a server does not answer, and may do so soon
    ├── PromoteProblem     a script cannot be a job, or a job spec is not one
    └── Problems           several independent errors of one script

An error is one lower-case sentence that names the thing and the rule, a hint that
says what to write instead, and the place in the script. A notebook shows that and
no Python traceback; a bug of ours is not an ArroyoError and keeps its traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from arroyo_nb.python_worker_errors import Raised, worker_note
from arroyo_nb.repairs import Repair
from arroyo_nb.source import ScriptText, Span


class ArroyoError(Exception):
    """An error of the user's script or of its run.

    Parameters
    ----------
    message
        One sentence, lower case, without a full stop.
    span
        The place in the script, where there is one.
    hint
        What to write instead, as one sentence.
    repairs
        What an editor can change to that end, the likeliest first.
    """

    lasting = True
    """Whether the same must come again, however often it is tried."""

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        repairs: Iterable[Repair] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.repairs = tuple(repairs)
        self.source: ScriptText | None = None
        said = Raised(type(self).__name__, message, hint, self.lasting)
        if (note := worker_note(said)) is not None:
            self.add_note(note)

    @property
    def problems(self) -> tuple[ArroyoError, ...]:
        """The independent errors that this one stands for; itself when single."""
        return (self,)

    def at(self, source: ScriptText) -> ArroyoError:
        """Say which script the span points into; returns the error itself."""
        self.source = source
        return self

    def __str__(self) -> str:
        # A name may have what no terminal and no notebook can show.
        return "\n".join(self._lines()).encode("utf-8", "backslashreplace").decode()

    def _lines(self) -> list[str]:
        message = _cut(self.message)
        lines = [message]
        if self.span is not None and self.source is not None:
            line, column = self.source.place(self.span.start)
            lines[0] = f"{self.source.name}:{line}:{column}: {message}"
            lines.append(self.source.excerpt(self.span))
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return lines

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of a traceback."""
        return [str(self)]


_LONG_WORD = re.compile(r"(\S{80})\S{20,}(\S{20})")


def _cut(message: str) -> str:
    """A message that quotes a word of thousands of characters, without its middle."""
    return _LONG_WORD.sub(r"\1…\2", message)


class SyntaxProblem(ArroyoError):
    """The text is not a script of the dialect."""


class CatalogProblem(ArroyoError):
    """A table, column, type, function or option that is not known or not allowed."""


class PlanProblem(ArroyoError):
    """A well-formed query that has no streaming plan."""


class Unsupported(PlanProblem):
    """The dialect's grammar knows it, this version does not run it."""


class RunProblem(ArroyoError):
    """A plan failed while it was started or while it ran."""

    lasting = False


class DataProblem(RunProblem):
    """A value that cannot be read, or not be written: it is there each time."""

    lasting = True


RESTORE = (
    "put the whole state folder back from a copy of it, or begin anew: "
    "'arroyo-nb run JOB --fresh' for a job, another state_dir= in a notebook"
)
"""What helps against every damage of a state folder."""


class StateProblem(RunProblem):
    """A file of a state folder that is gone or damaged: a restart finds the same.

    Parameters
    ----------
    path
        The file.
    fault
        What is wrong with it, such as ``is gone``.
    meaning
        What it is for, or what follows for the run.
    hint
        What to do.
    """

    lasting = True

    def __init__(
        self, path: object, fault: str, meaning: str, *, hint: str = RESTORE
    ) -> None:
        super().__init__(f"'{path}' {fault}: {meaning}", hint=hint)


class Unreached(RunProblem):
    """A server that a run needs does not answer: a job waits for it, also at first."""

    retry_after_s: float | None = None
    """After how many seconds the server wants to be asked again; None: it does not
    say."""


class PromoteProblem(ArroyoError):
    """A script that cannot be made a job, or a job spec that is not one."""


class Problems(ArroyoError):
    """Several independent errors of one script, in the order of their places."""

    def __init__(self, problems: Iterable[ArroyoError]) -> None:
        self._problems = tuple(problems)
        super().__init__(f"{len(self._problems)} errors in the script")

    @property
    def problems(self) -> tuple[ArroyoError, ...]:
        """The errors, in the order of their places."""
        return self._problems

    def at(self, source: ScriptText) -> ArroyoError:
        """Say which script the spans point into; returns the error itself."""
        for problem in self._problems:
            problem.at(source)
        return super().at(source)

    def _lines(self) -> list[str]:
        return [line for problem in self._problems for line in problem._lines()]


def raise_all(problems: Iterable[ArroyoError]) -> None:
    """Raise what was collected: nothing, the only error, or :class:`Problems`.

    Raises
    ------
    ArroyoError
        When there is at least one problem.
    """
    found = sorted(problems, key=lambda p: p.span.start if p.span else -1)
    if len(found) == 1:
        raise found[0]
    if found:
        raise Problems(found)
