"""``%arroyo check``: what is wrong with the cell that was run last, or what a word of
SQL is. Where a page has the editor it shows the same while one types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.secrets_in_text import hide_secrets

if TYPE_CHECKING:
    from arroyo_nb.editor.answers import Diagnostic, EditorContext, Hover
    from arroyo_nb.editor.cell_text import CellText
    from arroyo_nb.session import Session

FINE = "no problem was found"
MOST_CHARS = 60
"""Of a cell that is named by its text."""


def check(
    session: Session,
    word: str | None,
    variables: Mapping[str, Any],
    say: Callable[[str], None],
    *,
    strict: bool = False,
) -> None:
    """Tell the problems of the cell that was run last and the columns of its result; or
    explain a word.

    Parameters
    ----------
    session
        What the cell is planned against.
    word
        A table, a column, a function or an option; None: the last cell is checked.
    variables
        Those of the notebook; IPython keeps the cells there too.
    say
        Tells a text.
    strict
        Whether what Arroyo would refuse is an error.

    Raises
    ------
    RunProblem
        When there is no such cell, or nothing is known of the word.
    """
    from arroyo_nb.editor.answers import EditorContext

    catalog = session.catalog.with_functions(session.function_rows())
    runs = {name: run.plan for name, run in session.runs.items()}
    context = EditorContext(catalog, strict, variables, runs)
    if word is not None:
        say(_explained(word, context))
        return
    cell = _last_cell(variables)
    if cell is None:
        raise RunProblem(
            "no cell of Arroyo was run in this notebook yet",
            hint="run a cell that begins with %%arroyo, and then %arroyo check",
        )
    say("\n".join(_report(cell, context)))


def _last_cell(variables: Mapping[str, Any]) -> CellText | None:
    """The newest cell of ours that was run, whatever became of it."""
    from arroyo_nb.editor.cell_text import read_cell

    for text in reversed(variables.get("In", ())):
        if (cell := _typed(text)) is not None and (found := read_cell(cell)):
            return found
    return None


def _typed(text: str) -> str | None:
    """The cell as it was typed, of the Python that IPython has made of it.

    >>> _typed("get_ipython().run_cell_magic('arroyo', '--wait', 'SELECT 1\\\\n')")
    '%%arroyo --wait\\nSELECT 1\\n'
    """
    import ast

    if text.startswith("%%arroyo"):
        return text
    if not text.startswith("get_ipython().run_cell_magic("):
        return None
    try:
        call = ast.parse(text, mode="eval").body
        name, line, body = (
            ast.literal_eval(argument) for argument in getattr(call, "args", ())
        )
    except (SyntaxError, ValueError):
        return None
    return f"%%{name} {line}\n{body}" if line else f"%%{name}\n{body}"


def _report(cell: CellText, context: EditorContext) -> Iterator[str]:
    from arroyo_nb.editor.diagnostics import diagnose
    from arroyo_nb.editor.explanations import shortened
    from arroyo_nb.editor.result_schema import result_schema
    from arroyo_nb.plan.description import COLUMNS, column_rows
    from arroyo_nb.plan.show_statements import StatementAnswer

    problems = diagnose(cell, context)
    for problem in problems:
        yield from _lines(problem, cell)
    if not problems:
        yield f"{FINE}: {shortened(hide_secrets(cell.text), MOST_CHARS)}"
    columns = result_schema(cell, context)
    if columns:
        yield f"\nresult\n{StatementAnswer(COLUMNS, column_rows(columns))}"


def _lines(problem: Diagnostic, cell: CellText) -> Iterator[str]:
    from arroyo_nb.source import ScriptText, Span

    # The line with a number is that of the cell, its first line included.
    source = ScriptText(cell.text)
    line, column = source.place(problem.start)
    severity = problem.severity.value
    yield f"{source.name}:{line}:{column}: {severity}: {problem.message}"
    yield source.excerpt(Span(problem.start, problem.end))
    if problem.hint is not None:
        yield f"  hint: {problem.hint}"
    yield from (f"  fix: {fix.title}" for fix in problem.fixes)


def _explained(word: str, context: EditorContext) -> str:
    from arroyo_nb.editor.cell_text import read_cell
    from arroyo_nb.editor.hover import hover

    text = f"%%arroyo\n{word}"
    cell = read_cell(text)
    assert cell is not None, "it begins with a magic"
    found: Hover | None = hover(cell, cell.start, context)
    if found is None:
        raise RunProblem(
            f"nothing is known of '{word}'",
            hint="name a table, a column of one, a function or an option",
        )
    lines = [found.title, *found.lines]
    if found.example is not None:
        lines.append(f"  {found.example}")
    if found.badge is not None:
        lines.append(f"in Arroyo: {found.badge}")
    return "\n".join(lines)
