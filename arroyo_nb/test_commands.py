"""``%%arroyo_test``: a test of a query, in a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.magic_options import parse_named_line
from arroyo_nb.option_flags import Flag, flags_by_name, options_text
from arroyo_nb.run.interrupts import Interrupted, defer_interrupts, imported

if TYPE_CHECKING:
    from arroyo_nb.session import Session
    from arroyo_nb.source import ScriptText

FIRST_TEST = ("arroyo_nb.plan.planner", "arroyo_nb.cell_tests.run")
"""What the first test imports, some hundred modules."""

TEST_FLAGS = (
    Flag("timeout", ("--timeout",), "how long the query may run, 60s if not said",
         "TIME"),
    Flag("hidden", ("--hidden",), "show nothing of the expectations: points, and one "
         "more hint with each try; a cell with a query alone answers the test NAME"),
    Flag("out", ("-o", "--out"), "with --hidden: write the test into a file, packed; "
         "NAME.hidden is found beside the notebook", "FILE"),
    Flag("help", ("-h", "--help"), "show this help"),
)  # fmt: skip

TEST_FLAGS_BY_NAME: Mapping[str, Flag] = flags_by_name(TEST_FLAGS)

_USAGE = "%%arroyo_test NAME [OPTIONS], and GIVEN, WHEN, EXPECT from the second line on"


def parse_test_line(line: str) -> tuple[str, dict[str, Any]]:
    """Parse what follows ``%%arroyo_test`` on its line: a name and the options.

    >>> parse_test_line("late_clicks --timeout 2m")
    ('late_clicks', {'timeout': '2m'})

    Raises
    ------
    SyntaxProblem
        One line on the first option that is wrong, or that there is no name.
    """
    return parse_named_line(line, TEST_FLAGS_BY_NAME, "test", _USAGE)


def run_cell(
    session: Session,
    line: str,
    cell: ScriptText,
    variables: Mapping[str, Any],
    say: Callable[[str], None],
    show: Callable[[Mapping[str, str]], object] | None,
) -> None:
    """Run the test of a cell: a line where it passed.

    Parameters
    ----------
    session
        Its tables are those of the test; it stays as it is.
    line, cell
        What follows the magic on its line, and the lines below.
    variables
        Those of the notebook.
    say
        Tells a line.
    show
        Shows a MIME bundle where somebody looks; None: nobody does.

    Raises
    ------
    ArroyoError
        When something is not as expected, or the test is wrong, with its place.
    """
    name, options = parse_test_line(line)
    if "out" in options and not options.get("hidden"):
        raise RunProblem("-o writes a hidden test", hint="add --hidden")
    if options.pop("help", False):
        say(help_text())
        return
    try:
        with defer_interrupts() as interrupts:
            imported(*FIRST_TEST, interrupts=interrupts)
            from arroyo_nb.notebook_variables import bind

            result = session.test(
                cell,
                name=name,
                variables=variables,
                bind=partial(bind, values=variables),
                **options,
            )
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"the test '{name}' was interrupted") from None
    text = str(result)
    if result.passed:
        say(text)
        return
    from arroyo_nb.cell_tests import TestFailure

    failure = TestFailure(result)
    if show is not None:
        show({"text/html": result._repr_html_(), "text/plain": text})
        failure.is_shown = True
    raise failure


def help_text() -> str:
    """The help of ``%%arroyo_test``."""
    return "\n".join(
        (
            "Test a query: given rows, when it runs, expect rows.",
            "",
            "    %%arroyo_test late_clicks",
            "    GIVEN clicks --watermark '10 seconds'",
            "    at       | user",
            "    10:00:00 | ann",
            "    10:00:20 | bob",
            "    09:59:30 | ann",
            "",
            "    WHEN",
            "    SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n",
            "    FROM clicks GROUP BY w",
            "",
            "    EXPECT TABLE",
            "    w.start  | n",
            "    10:00:00 | 1",
            "    10:00:20 | 1",
            "",
            "    EXPECT LATE",
            "    at       | late_by",
            "    09:59:30 | 30 s",
            "",
            "GIVEN TABLE [FROM FILE|TAPE|VARIABLE], with the rows and the options of",
            "%%arroyo_rows; a declared table keeps its types and its watermark.",
            "WHEN and a script; or WHEN RUN and the name of a run or of a view.",
            "EXPECT TABLE, CHANGELOG or LATE, and rows of the columns that matter:",
            "ORDERED, EMPTY, WITHIN 0.01, OF OUTPUT may follow. EXPECT WATERMARK TIME.",
            "EXPECT ERROR 'a part of the message' LINE 2.",
            "For a class: POINTS 2 may follow EXPECT, and HINT lines stand below it;",
            "--hidden -o late_clicks.hidden writes the test, and students answer it",
            "with a query below %%arroyo_test --hidden late_clicks.",
            "",
            *options_text(TEST_FLAGS),
        )
    )
