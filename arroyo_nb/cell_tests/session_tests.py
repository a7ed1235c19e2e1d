"""The tests of a session: from text, from a file, from values of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.allowed_roots import user_text
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.jobs.carried_tests import NO_TESTS, CarriedTests
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.option_values import duration
from arroyo_nb.source import ScriptText

if TYPE_CHECKING:
    from arroyo_nb.catalog import Catalog
    from arroyo_nb.cell_tests import CellTest, TestResult
    from arroyo_nb.cell_tests.scratch import Setting
    from arroyo_nb.engine import Engine
    from arroyo_nb.functions.user_defined import UserFunction
    from arroyo_nb.run.runs import Runs


class SessionTests:
    """Part of a session: it runs tests, which change nothing of it."""

    catalog: Catalog
    strict: bool
    engine: Engine
    _runs: Runs

    if TYPE_CHECKING:

        def function_rows(self) -> dict[str, UserFunction]: ...

    def __init__(self) -> None:
        # By their names, for who makes a job of a run.
        self._tests: dict[str, tuple[CellTest, Setting]] = {}
        self._hidden: dict[str, CellTest] = {}
        # How often each hidden test has failed since it passed.
        self._tries: dict[str, int] = {}

    def test(
        self,
        test: str | ScriptText | Path | None = None,
        *,
        name: str | None = None,
        given: Mapping[str, Any] | None = None,
        when: str | None = None,
        expect: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        timeout: str | timedelta = "60s",
        bind: Callable[[str], str] | None = None,
        source: str = "<cell>",
        hidden: bool = False,
        out: str | Path | None = None,
    ) -> TestResult:
        """Run a test: given rows, when a query runs, expect rows.

        The tables that are not given are those of the session, which stays as it is.

        Parameters
        ----------
        test
            The text of a test, as of ``%%arroyo_test``; or a file with one, from whose
            folder its paths lead. None: it is in the three values.
        name
            What the result calls it.
        given
            The rows of each table: a text, a DataFrame, a list of mappings; or a
            mapping of ``rows`` and the options of ``%%arroyo_rows``.
        when
            The script; or ``"RUN by_hour"``, that of a run or a view.
        expect
            ``table``, ``changelog`` and ``late``: rows as in ``given``, an empty list
            for none; ``watermark``: a time; ``error``: a part of the message.
        variables
            What FROM may name.
        timeout
            How long the query may run.
        bind
            Writes out the parameters of the query.
        source
            What errors call the text.
        hidden
            Show nothing of the expectations: which one is not met, points, and one more
            hint with each try. ``test`` is then the whole test, which is remembered
            under its name; or only a query, on which the test of that name is tried
            that is remembered, or stands in the file ``NAME.hidden``.
        out
            Where a hidden test is written, packed.

        Returns
        -------
        TestResult
            Also of a test that failed: ``raise_failure()`` raises then.

        Raises
        ------
        ArroyoError
            When the test itself is wrong, or its query, and that is not expected.

        Examples
        --------
        ::

            session.test(
                given={"clicks": "at | user\\n10:00:00 | ann"},
                when="SELECT user, count(*) AS n FROM clicks GROUP BY user",
                expect={"table": [{"user": "ann", "n": 1}]},
            ).raise_failure()
        """
        from arroyo_nb.cell_tests.parse import parse_test
        from arroyo_nb.cell_tests.run import run_test
        from arroyo_nb.cell_tests.scratch import Setting

        limit = duration(timeout)
        assert limit is not None, "a duration was given"
        base = None
        if test is None:
            case = case_of_values(name or "test", given or {}, when, expect or {})
        elif given or when or expect:
            raise RunProblem("a test is a text or values, and not both")
        else:
            if isinstance(test, Path):
                base = test.absolute().parent
                text = ScriptText(user_text(test), str(test))
                name = name or test.stem
            else:
                text = ScriptText.of(test, source)
            case = (
                self._hidden_case(text, name, out)
                if hidden
                else parse_test(text, name or "test")
            )
        setting = Setting(
            self.catalog.with_functions(self.function_rows()),
            self.strict,
            {name: run.plan for name, run in self._runs.by_name.items()},
            variables or {},
            base=base,
        )
        if bind is not None:
            setting = replace(setting, bind=bind)
        folder = self._runs.temporary_folder
        result = run_test(case, setting, self.engine, folder, limit)
        if case.is_hidden:
            return self._without_answer(result, case)
        self._tests[case.name] = case, setting
        return result

    def _hidden_case(
        self, text: ScriptText, name: str | None, out: str | Path | None
    ) -> CellTest:
        """The hidden test of a text, or the one that its query answers."""
        from arroyo_nb.cell_tests import hidden
        from arroyo_nb.cell_tests.parse import has_expectations, parse_answer

        if name is None:
            raise RunProblem("a hidden test has a name", hint="session.test(name=...)")
        if has_expectations(text.text):
            case = hidden.hidden_test(text, name)
            if out is not None:
                _write(user_path(out), hidden.packed(text.text))
            self._hidden[name] = case
            self._tries.pop(name, None)
            return case
        if out is not None:
            raise RunProblem(
                "only a whole test is written, and this is a query alone",
                hint="write GIVEN, WHEN and EXPECT, or leave -o out",
            )
        file = Path(f"{name}{hidden.SUFFIX}")
        if name not in self._hidden and not user_path(file).exists():
            raise RunProblem(
                f"there is no hidden test '{name}'",
                hint=did_you_mean(name, self._hidden)
                or f"put '{file}' beside the notebook, or run the cell with its EXPECT",
            )
        if name not in self._hidden:
            test = hidden.unpacked(user_text(user_path(file)), str(file))
            self._hidden[name] = hidden.hidden_test(ScriptText(test, str(file)), name)
        return hidden.answered(self._hidden[name], parse_answer(text))

    def _without_answer(self, result: TestResult, case: CellTest) -> TestResult:
        from arroyo_nb.cell_tests.hidden import without_answer

        tries = self._tries.get(case.name, 0)
        differences = [c.difference for c in result.checks if c.difference is not None]
        if not differences:
            tries = 0
        elif not all(each.is_of_columns for each in differences):
            tries += 1
        self._tries[case.name] = tries
        return without_answer(result, case, tries)

    def carried_tests(self, job: str) -> CarriedTests:
        """The tests that were run here, for the folder of a job that is made of a
        run; the newest of each name."""
        if not self._tests:
            return NO_TESTS
        from arroyo_nb.cell_tests.export import carried

        return carried(self._tests.values(), job=job)


def _write(path: Path, text: str) -> None:
    from arroyo_nb.allowed_roots import current_roots
    from arroyo_nb.durable_files import replaced_whole
    from arroyo_nb.file_errors import refusals

    current_roots().check(path, str(path))
    with refusals("write", str(path)), replaced_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def case_of_values(
    name: str, given: Mapping[str, Any], when: str | None, expect: Mapping[str, Any]
) -> CellTest:
    """A test that is made of values of Python.

    Raises
    ------
    ArroyoError
        When something is missing, or a value has no meaning.
    """
    from arroyo_nb.cell_tests import CellTest, When

    if not when or not expect:
        raise RunProblem(
            "a test needs when= and expect=",
            hint="session.test(given={'clicks': rows}, when='SELECT ...', "
            "expect={'table': rows})",
        )
    word, _, run = when.strip().partition(" ")
    is_named = word == "RUN" and len(run.split()) == 1
    return CellTest(
        name,
        ScriptText(""),
        tuple(_given(table, rows) for table, rows in given.items()),
        When(run=run.strip()) if is_named else When(when),
        tuple(_expectation(kind, value) for kind, value in expect.items()),
    )


def _given(table: str, rows: Any) -> Any:
    from arroyo_nb.cell_tests import Given
    from arroyo_nb.cell_tests.parse import OPTIONS

    options: dict[str, Any] = {}
    if isinstance(rows, Mapping):
        options = {key: value for key, value in rows.items() if key != "rows"}
        if "rows" not in rows:
            raise CatalogProblem(
                f"the rows of '{table}' are missing",
                hint="{'rows': ..., 'watermark': '10 seconds'}",
            )
        known = [*OPTIONS.values()]
        for key in options:
            if key not in known:
                raise CatalogProblem(
                    f"'{key}' is not an option of given rows",
                    hint=did_you_mean(key, known) or f"known: {', '.join(known)}",
                )
        rows = rows["rows"]
    return Given(table, rows, options=options)


def _expectation(kind: str, value: Any) -> Any:
    from arroyo_nb.cell_tests import Expectation, Expected
    from arroyo_nb.row_tables.values import time_of

    kinds = {each.value.lower(): each for each in Expected}
    if kind not in kinds:
        raise CatalogProblem(
            f"'{kind}' cannot be expected",
            hint=did_you_mean(kind, kinds) or f"known: {', '.join(kinds)}",
        )
    expected = kinds[kind]
    if expected is Expected.ERROR:
        return Expectation(expected, value=str(value))
    is_moment = isinstance(value, str) and "\n" not in value.strip()
    if expected is Expected.WATERMARK and is_moment:
        try:
            return Expectation(expected, value=time_of(value.strip()))
        except ValueError as error:
            raise CatalogProblem(f"'{value}' is no time", hint=str(error)) from None
    if expected is Expected.WATERMARK and hasattr(value, "year"):
        return Expectation(expected, value=value)
    return Expectation(expected, None if value is None else value)
