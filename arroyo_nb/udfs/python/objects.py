"""Objects of ``@udaf`` classes: one is what is kept of a group.

In the state it is the pickle of what ``__getstate__`` says, by default its attributes;
the class itself travels with the query.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arroyo_nb.codecs.python_values import python_values

if TYPE_CHECKING:
    from arroyo_nb.udfs.python.calls import PythonFunction


_EARLY = "retract may be called before accumulate: what it takes away may come later"


@dataclass(frozen=True)
class ObjectCalls:
    """Calls the methods of a class.

    Parameters
    ----------
    of
        Its function is the class.
    """

    of: PythonFunction

    def accumulated(
        self, columns: Sequence[pa.Array], slots: Sequence[int], weights: Sequence[int]
    ) -> dict[int, bytes]:
        """An object for each slot that has rows.

        Parameters
        ----------
        columns
            The arguments, a row at a time.
        slots
            The group of each row.
        weights
            How often each row comes; below zero: is taken back.
        """
        objects: dict[int, Any] = {}
        rows = zip(*map(python_values, columns), strict=True)
        for row, slot, weight in zip(rows, slots, weights, strict=True):
            try:
                if slot not in objects:
                    objects[slot] = self.of.function()
                one = objects[slot]
                call = one.accumulate if weight > 0 else one.retract
                given = self.of.made(row)
                for _ in range(abs(weight)):
                    call(*given)
            except BaseException as error:
                problem = self.of.failed(error, row, advises=False)
                if weight < 0:
                    problem.hint = f"{problem.hint}; {_EARLY}"
                raise problem from None
        return {slot: self._dumped(one) for slot, one in objects.items()}

    def merged(self, states: Sequence[bytes]) -> bytes:
        """One object of several of a group."""
        if len(states) == 1:
            return states[0]
        try:
            first, *others = (self._loaded(state) for state in states)
            for other in others:
                made = first.merge(other)
                first = first if made is None else made
        except BaseException as error:
            raise self.of.failed(error, advises=False) from None
        return self._dumped(first)

    def finished(self, states: Sequence[bytes | None]) -> pa.Array:
        """The result of each group; None: no row of it counted."""
        results = []
        for state in states:
            try:
                one = self.of.function() if state is None else self._loaded(state)
                results.append(one.finish())
            except BaseException as error:
                raise self.of.failed(error, advises=False) from None
        return self.of.array(results)

    def _loaded(self, state: bytes) -> Any:
        one: Any = object.__new__(self.of.function)  # type: ignore[arg-type]
        said = pickle.loads(state)
        if hasattr(one, "__setstate__"):
            one.__setstate__(said)
            return one
        # By default the attributes; behind them those of __slots__, if there are any.
        attributes, slots = said if isinstance(said, tuple) else (said, None)
        for name, value in {**(attributes or {}), **(slots or {})}.items():
            object.__setattr__(
                one, name, value
            )  # one that is frozen has none of its own
        return one

    def _dumped(self, one: Any) -> bytes:
        try:
            state = one.__getstate__()
        except BaseException as error:
            raise self.of.failed(error, advises=False) from None
        try:
            return pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
        except Exception:  # such as objects of a class that no module has
            from pyspark import cloudpickle

            try:
                return bytes(cloudpickle.dumps(state))
            except Exception as error:
                raise self.of.failed(error, advises=False) from None
