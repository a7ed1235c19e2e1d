"""``%%arroyo_rows``: a table of the rows of a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.row_tables.disorder import OPTIONS
from arroyo_nb.row_tables.named_data import named_data
from arroyo_nb.views.listing import changes

if TYPE_CHECKING:
    from arroyo_nb.session import Session
    from arroyo_nb.source import ScriptText


def define(
    session: Session,
    name: str,
    cell: ScriptText,
    options: Mapping[str, Any],
    variables: Mapping[str, Any],
    say: Callable[[str], None],
) -> None:
    """Make a table of the rows of a cell, and tell what has changed.

    Parameters
    ----------
    session
        Its catalog gets the table.
    name, options
        What follows the magic on its line: the table's, keywords of
        :meth:`Session.rows` and of its disorder; ``data`` is a file or a variable in
        place of the cell.
    cell
        The rows.
    variables
        Those of the notebook.
    say
        Tells a line.

    Raises
    ------
    ArroyoError
        With the place of what is wrong; nothing has changed then.
    """
    data: Any = cell
    if (source := options.get("data")) is not None:
        if cell.text.strip():
            raise SyntaxProblem(
                f"the rows are those of '{source}', and the cell has rows too",
                hint="remove the rows, or --from",
            )
        data = named_data(source, variables)
    before = session.catalog
    users = session.users(before.get(name)) if name in before else []
    disorder = {key: value for key, value in options.items() if key in OPTIONS}
    others = {key: v for key, v in options.items() if key not in (*OPTIONS, "data")}
    made = session.rows(name, data, disorder=disorder, **others)
    if made.changes:
        say(f"redefined {made.name} ({made.changes})")
    else:
        say(changes(before, session.catalog))
    say(f"{made.name}: {made}")
    for note in made.notes:
        say(f"{made.name}: {note}")
    if users and session.catalog.get(name) != before.get(name):
        say(
            f"{', '.join(users)} still reads the rows as they were: run its cell again "
            "for the new ones"
        )
