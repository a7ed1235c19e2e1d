"""The UDFs, where a script is planned.

A plan is made in the block of :func:`user_defined`; what it calls it then has with it,
so that nobody asks by name later: a function that is defined again is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from arroyo_nb.functions.aggregates import AggregateFunction
    from arroyo_nb.functions.signature import ScalarFunction


class UserDefined(Protocol):
    """What a row of a table of functions says of the function of a user."""

    @property
    def name(self) -> str:
        """What SQL calls it."""

    @property
    def language(self) -> str:
        """``python`` or ``rust``."""

    @property
    def signature(self) -> str:
        """As it is listed: ``name(a BIGINT, b TEXT) -> DOUBLE``."""

    @property
    def called(self) -> str:
        """How it is called, such as ``once for each row``."""

    @property
    def text(self) -> str:
        """Source that defines it, and needs nothing else of the notebook."""

    @property
    def sha256(self) -> str:
        """Of the source, in hexadecimal digits."""

    @property
    def version(self) -> str:
        """What tells this definition from others of its name."""

    @property
    def is_async(self) -> bool:
        """Whether its calls wait for each other's answers."""

    @property
    def arroyo_refusal(self) -> str:
        """Why Arroyo would refuse it, in its words; empty: it would not."""

    @property
    def not_portable(self) -> str:
        """Why the source does not stand for itself, in words; empty: it does."""

    def spark_call(self, arguments: Sequence[str], only_where: str) -> str:
        """A call as Spark SQL text, as :meth:`ScalarFunction.spark` has it."""

    def batch_call(self) -> Any:
        """What a worker calls with Arrow arrays, the arguments of a batch of rows; it
        gives an array. It can be pickled."""


UserFunction: TypeAlias = "ScalarFunction | AggregateFunction"

NONE: Mapping[str, UserFunction] = MappingProxyType({})

_known: ContextVar[Mapping[str, UserFunction]] = ContextVar("user_defined")


@contextmanager
def user_defined(functions: Mapping[str, UserFunction]) -> Iterator[None]:
    """In the block, scripts may call these, by their lower-case names."""
    token = _known.set(functions)
    try:
        yield
    finally:
        _known.reset(token)


def user_functions() -> Mapping[str, UserFunction]:
    """The UDFs that a script may call."""
    return _known.get(NONE)
