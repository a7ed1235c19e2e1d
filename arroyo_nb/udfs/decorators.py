"""``@udf`` and ``@udaf``: a Python function is a function of SQL from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@overload
def udf(function: F, /) -> F: ...
@overload
def udf(**options: Any) -> Callable[[F], F]: ...
def udf(function: Any = None, /, **options: Any) -> Any:  # noqa: ARG001
    """Make a function one of SQL, under its name in lower case.

    Every argument and the result is annotated: ``int``, ``float``, ``str``, ``bool``,
    ``bytes``, ``datetime``, ``date``, ``timedelta``, ``Decimal``, a dataclass, a
    ``Sequence`` of one; ``T | None`` where NULL is a value. Without that a NULL
    argument makes the result NULL, and the function is not called.

    Arguments ``list[T]`` make it an aggregate, which is called with all values of a
    group; ``pyarrow.Array`` or ``pandas.Series`` one that is called with a batch of
    rows; ``async def`` one whose calls wait together.

    Parameters
    ----------
    input, output
        Of a function of batches: the types of the values.
    on_error
        ``"fail"``, or ``"null"``: a call that raises gives NULL.
    redact
        Leave the arguments of a call that failed out of its error.
    volatile
        Equal arguments may give another result.
    ordered, unordered
        Of an async function, as Arroyo has them; rows stay in order here.
    allowed_in_flight
        Calls of an async function at a time, 1,000 by default.
    timeout
        How long one of them may take, ``"5s"`` by default.
    on_timeout
        ``"fail"``, or ``"null"``.

    Returns
    -------
    callable
        The function itself, which Python calls as before.

    Raises
    ------
    ArroyoError
        When its signature has no meaning in SQL, with the line.

    Examples
    --------
    ::

        @udf
        def celsius(fahrenheit: float) -> float:
            return (fahrenheit - 32) / 1.8
    """
    return _defined if function is None else _defined(function)


@overload
def udaf(cls: C, /) -> C: ...
@overload
def udaf(**options: Any) -> Callable[[C], C]: ...
def udaf(cls: Any = None, /, **options: Any) -> Any:  # noqa: ARG001
    """Make a class an aggregate of SQL, under its name in lower case.

    An object of it is what is kept of a group: it has ``__init__(self)``,
    ``accumulate(self, ...)`` for one row, ``retract(self, ...)`` for one that is taken
    back, ``merge(self, other)`` and ``finish(self)``, which gives the result. The rows
    of a micro-batch have an object of their own, which is merged with the group's: so
    ``retract`` may come first, and counts go below zero. The one
    option is ``redact``, as of :func:`udf`.

    Examples
    --------
    ::

        @udaf
        class GeoMean:
            def __init__(self):
                self.logs, self.n = 0.0, 0
            def accumulate(self, x: float):
                self.logs, self.n = self.logs + math.log(x), self.n + 1
            def retract(self, x: float):
                self.logs, self.n = self.logs - math.log(x), self.n - 1
            def merge(self, other):
                self.logs, self.n = self.logs + other.logs, self.n + other.n
            def finish(self) -> float | None:
                return math.exp(self.logs / self.n) if self.n else None
    """
    return _defined if cls is None else _defined(cls)


def _defined(made: Any) -> Any:
    # Options are read from the source, as those of a file that is not run are.
    from arroyo_nb.errors import CatalogProblem
    from arroyo_nb.udfs import registry

    if not callable(made):
        raise CatalogProblem(
            f"@udf stands above a function, and takes options by name: {made!r}",
            hint="write @udf(timeout='10s', allowed_in_flight=100)",
        )
    if registry.defines(getattr(made, "__module__", "")):
        from arroyo_nb.udfs.python.from_object import udf_of

        registry.define(udf_of(made))
    return made
