"""The functions that this process knows: those of cells, and of ``@udf`` anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arroyo_nb.functions.user_defined import UserFunction
    from arroyo_nb.udfs.definition import Udf

_udfs: dict[str, Udf] = {}
_listeners: list[Callable[[Udf, Udf | None], object]] = []
_running: ContextVar[str] = ContextVar("running", default="")


def udfs() -> Mapping[str, Udf]:
    """The functions, by name."""
    return dict(_udfs)


def define(udf: Udf) -> None:
    """Know a function: scripts that are planned from now on may call it."""
    before = _udfs.get(udf.name)
    _udfs[udf.name] = udf
    for listener in tuple(_listeners):
        listener(udf, before)


def forget(name: str) -> None:
    """Know it no more."""
    _udfs.pop(name, None)


def listen(listener: Callable[[Udf, Udf | None], object]) -> Callable[[], None]:
    """Have a function called with each definition and the one that it replaces;
    returns what ends that."""
    _listeners.append(listener)

    def end() -> None:
        with suppress(ValueError):  # it has ended before
            _listeners.remove(listener)

    return end


@contextmanager
def without_definitions(module: str) -> Iterator[None]:
    """In the block a module is run for its objects: ``@udf`` in it defines nothing."""
    token = _running.set(module)
    try:
        yield
    finally:
        _running.reset(token)


def defines(module: str) -> bool:
    """Whether ``@udf`` in a module defines a function of SQL."""
    return _running.get() != module


def rows(udfs: Mapping[str, Udf]) -> dict[str, UserFunction]:
    """Functions as the planner knows them."""
    return {
        name: udf.aggregate() if udf.is_aggregate else udf.scalar()
        for name, udf in udfs.items()
    }
