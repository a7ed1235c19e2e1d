"""The kernel of an aggregate UDF where a script is planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.changelog.measures import AggregateCall
    from arroyo_nb.changelog.multisets import Bags
    from arroyo_nb.udfs.definition import Udf

T = TypeVar("T")


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel that is loaded where it is sent to a worker: only then is the source of
    its function run, or compiled.

    Parameters
    ----------
    udf
        The function.
    loaded
        Gives the kernel that a worker has.
    """

    udf: Udf
    loaded: Callable[[Udf], Callable[[Bags, AggregateCall], pa.Array]]

    @property
    def name(self) -> str:
        """The function's."""
        return self.udf.name

    def __call__(self, bags: Bags, call: AggregateCall) -> pa.Array:
        return self.loaded(self.udf)(bags, call)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.loaded(self.udf),)


def _itself(made: T) -> T:
    return made
