"""Tests of queries: given rows, when a query runs, expect rows.

::

    text --parse--> CellTest --scratch--> Scratch: a catalog with the given rows, a plan
                                   |
    expected rows (expected) --+   run: in micro-batches of the given rows
                               |   |
                               +-> compare --> Difference (render) --> TestResult

A test has a catalog of its own: it changes nothing of the session that it runs in. It
reads only what was given, or a recording, so that it has the same result each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText, Span

if TYPE_CHECKING:
    from arroyo_nb.cell_tests.compare import Difference

TIMEOUT = timedelta(seconds=60)
"""How long the query of a test may run where nothing else is said."""


class Expected(Enum):
    """What a test looks at."""

    TABLE = "TABLE"
    CHANGELOG = "CHANGELOG"
    LATE = "LATE"
    WATERMARK = "WATERMARK"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Given:
    """The rows of a table.

    Parameters
    ----------
    table
        Its name.
    rows
        The rows: a text in which all but them is blank, so that their places are those
        of the test; or a value of Python. None: they are those of ``origin``.
    span
        Where the name stands.
    origin
        A file, a recording or a variable that has the rows.
    options
        As of ``%%arroyo_rows``, by their keys.
    """

    table: str
    rows: Any
    span: Span | None = None
    origin: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class When:
    """What runs.

    Parameters
    ----------
    sql
        The script, all else of the test blank; empty where it is named.
    span
        Where WHEN stands.
    run
        The run whose script it is, or the view that is read.
    job
        The path of the ``job.yaml`` whose script it is.
    source
        The text that has the script; None: it is that of the test.
    """

    sql: str = ""
    span: Span | None = None
    run: str | None = None
    job: str | None = None
    source: ScriptText | None = None


@dataclass(frozen=True)
class Expectation:
    """What must come out.

    Parameters
    ----------
    kind
        What is looked at.
    rows
        The rows: a text as of :class:`Given`, or a value of Python; None: no rows.
    span
        Where EXPECT stands.
    output
        The table of the output, where the query has several.
    ordered
        Whether the rows must come in this order.
    tolerance
        How far a FLOAT or DOUBLE may be off; None: by its last digits.
    value
        The watermark, or a part of the error's message.
    line
        The line of the query that the error must be at, from 1 on; None: any.
    points
        What it is worth.
    hints
        What a hidden test says of it, one more with each try.
    """

    kind: Expected
    rows: Any = None
    span: Span | None = None
    output: str | None = None
    ordered: bool = False
    tolerance: float | None = None
    value: Any = None
    line: int | None = None
    points: int = 1
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellTest:
    """A test as it was written.

    Parameters
    ----------
    name
        What it is called.
    source
        Its text; where it was made of values, an empty one.
    given, when, expected
        Its parts.
    is_hidden
        Whether nothing of its expectations may be shown.
    """

    name: str
    source: ScriptText
    given: tuple[Given, ...]
    when: When
    expected: tuple[Expectation, ...]
    is_hidden: bool = False

    @property
    def query_source(self) -> ScriptText:
        """The text that has the query."""
        return self.when.source or self.source


@dataclass(frozen=True)
class Check:
    """What became of one expectation.

    Parameters
    ----------
    title
        The expectation, as it was written.
    line
        Where it stands, from 1 on; None: it was made of values.
    difference
        How what came out differs; None: it does not.
    points
        What it is worth; 0: points are not counted.
    """

    title: str
    line: int | None
    difference: Difference | None = None
    points: int = 0


@dataclass(frozen=True)
class TestResult:
    """What became of a test.

    Parameters
    ----------
    name
        The test's.
    checks
        One for each expectation, in their order.
    took_s
        How long the query ran.
    """

    __test__ = False  # pytest takes what is named so for a class of tests

    name: str
    checks: tuple[Check, ...]
    took_s: float

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return all(check.difference is None for check in self.checks)

    def raise_failure(self) -> TestResult:
        """Raise where something is not as expected; else returns the result itself.

        Raises
        ------
        TestFailure
            With the differences.
        """
        if not self.passed:
            raise TestFailure(self)
        return self

    def __str__(self) -> str:
        from arroyo_nb.cell_tests.render import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        from arroyo_nb.cell_tests.render import result_html

        return result_html(self)


class TestFailure(ArroyoError, AssertionError):
    """What came out is not what was expected.

    Parameters
    ----------
    result
        What became of the test.

    Attributes
    ----------
    is_shown
        Whether the differences are on the page already: no traceback repeats them.
    """

    __test__ = False
    is_shown = False

    def __init__(self, result: TestResult) -> None:
        super().__init__(str(result))
        self.result = result

    def _lines(self) -> list[str]:
        # Whole: what an error cuts from its message would be missing in the difference.
        return self.message.splitlines()

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()[:1] if self.is_shown else [str(self)]
