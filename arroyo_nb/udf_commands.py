"""``%%arroyo_udf`` and ``%arroyo functions``: define functions, and list them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import PYTHON, read_definitions

if TYPE_CHECKING:
    from arroyo_nb.session import Session
    from arroyo_nb.udfs.definition import Udf

COLUMNS = ("function", "language", "is called", "what it gives")


class UdfCommands:
    """What a shell does with UDFs.

    Parameters
    ----------
    session
        Its scripts call them.
    say
        Tells a line.
    """

    def __init__(self, session: Session, say: Callable[[str], None]) -> None:
        self._session = session
        self._say = say
        self.close = registry.listen(self._defined)
        """Listen to definitions no more."""

    def define(self, line: str, cell: ScriptText) -> dict[str, Any]:
        """Define the functions of a cell.

        Parameters
        ----------
        line
            Behind the magic: the language, Python where none is said.
        cell
            The lines below.

        Returns
        -------
        dict
            The functions themselves, by the names that Python has for them; none of
            those of Rust.

        Raises
        ------
        ArroyoError
            For each thing that is wrong with one, with its place in the cell.
        """
        found = read_definitions(cell, line.strip().lower() or PYTHON)
        # Run, or compiled, here and now: what is wrong then belongs to this cell.
        for udf in found:
            udf.batch_call()
        for udf in found:
            registry.define(udf)
            self._say(udf.signature)
        return _python_names(cell.text, found)

    def list(self, name: str | None = None) -> dict[str, str] | None:
        """The functions as a MIME bundle; of one function the source is told.

        Raises
        ------
        CatalogProblem
            When there is none of that name.
        """
        from arroyo_nb.views.listing import listing

        functions = self._session.functions
        if name is not None:
            udf = functions.get(name.lower())
            if udf is None:
                raise CatalogProblem(
                    f"there is no function '{name}' of a user's",
                    hint=did_you_mean(name, functions),
                )
            about = [f"{udf.signature}, in {udf.language}"]
            if udf.not_portable:
                about.append(f"It stays in this notebook: {udf.not_portable}.")
            if udf.arroyo_refusal:
                about.append(f"Arroyo would refuse it: {udf.arroyo_refusal}")
            lines = (f"-- {line}" for line in about)
            self._say("\n".join((*lines, udf.text.strip())))
            return None
        rows = [
            (udf.signature, udf.language, udf.called, udf.doc)
            for _, udf in sorted(functions.items())
        ]
        return listing(COLUMNS, rows, nothing="no function yet: define one with @udf")

    def _defined(self, udf: Udf, before: Udf | None) -> None:
        # Whoever only loads the extension needs no table of functions.
        from arroyo_nb.udfs.definition import NOT_DEFINED

        if udf.not_portable.endswith(NOT_DEFINED):
            self._say(f"{udf.name}: {udf.not_portable}")
        if before is None or before.version == udf.version:
            return
        self._say(f"{udf.name} replaces the function of an earlier cell")
        users = self._session.callers(udf.name)
        if users:
            self._say(
                f"{', '.join(users)} still calls it as it was: run its cell again for "
                "the new one"
            )
        if views := self._session.views_of(udf.name):
            self._say(
                f"{', '.join(views)} still calls it as it was: declare it again for "
                "the new one"
            )


def _python_names(text: str, found: tuple[Udf, ...]) -> dict[str, Any]:
    names = {udf.written for udf in found if udf.language == PYTHON}
    if not names:
        return {}
    from arroyo_nb.udfs.python.loading import run_source

    return {n: v for n, v in run_source(text).items() if n in names}
