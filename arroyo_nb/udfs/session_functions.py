"""The functions that the scripts of one session may call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arroyo_nb.source import ScriptText
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import PYTHON, read_definitions

if TYPE_CHECKING:
    from arroyo_nb.functions.user_defined import UserFunction
    from arroyo_nb.udfs.definition import Udf


class SessionFunctions:
    """Part of a session: the UDFs."""

    def __init__(self) -> None:
        # Those of this session alone.
        self._own: dict[str, Udf] = {}

    @property
    def functions(self) -> Mapping[str, Udf]:
        """The UDFs that scripts may call, by name: those of ``@udf``
        anywhere in this process, and those that were registered here."""
        found = dict(registry.udfs())
        for name, udf in self._own.items():
            # The later definition counts.
            if name not in found or found[name].serial < udf.serial:
                found[name] = udf
        return found

    def register(self, function: Any) -> None:
        """Make a Python function one of this session's SQL, as ``@udf`` does for all.

        Parameters
        ----------
        function
            A function, or a class of an aggregate; decorated where it has options.

        Raises
        ------
        ArroyoError
            When its source cannot be read, or its signature has no meaning in SQL.

        Examples
        --------
        ::

            def celsius(fahrenheit: float) -> float:
                return (fahrenheit - 32) / 1.8

            session.register(celsius)
            session.run("SELECT celsius(temp) FROM weather")
        """
        from arroyo_nb.udfs.python.from_object import udf_of

        self.define(udf_of(function))

    def register_source(
        self, text: str, language: str = PYTHON, *, source: str = "<source>"
    ) -> tuple[str, ...]:
        """Make the functions that a text defines functions of this session's SQL.

        Parameters
        ----------
        text
            A Python module with functions that have ``@udf``; or a Rust source as
            Arroyo takes it, with one.
        language
            ``"python"`` or ``"rust"``.
        source
            What errors call the text.

        Returns
        -------
        tuple of str
            Their names.

        Raises
        ------
        ArroyoError
            For each thing that is wrong with one, with its place.
        """
        found = read_definitions(ScriptText(text, source), language)
        for udf in found:
            self.define(udf)
        return tuple(udf.name for udf in found)

    def define(self, udf: Udf) -> None:
        """Make a definition a function of this session's SQL."""
        self._own[udf.name] = udf

    def function_rows(self) -> dict[str, UserFunction]:
        """The same as the planner and completion know them."""
        return registry.rows(self.functions)
