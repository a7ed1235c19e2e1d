"""Calling a compiled function with Arrow arrays, through Arrow's C data interface."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.lazy_imports import pa
from arroyo_nb.udfs.messages import failed, timed_out
from arroyo_nb.udfs.rust.libraries import Library

if TYPE_CHECKING:
    from arroyo_nb.udfs.definition import UdfOptions

# Sizes in bytes of the structs of the C data interface, where a pointer has 8.
_ARROW_ARRAY, _ARROW_SCHEMA = 80, 72
_PAIR = _ARROW_ARRAY + _ARROW_SCHEMA

_MESSAGE_BYTES = 4096
_DONE, _TIMED_OUT = 0, 2
_ENTRY = "arroyo_nb_call"
_SIGNATURE = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p),
    *(ctypes.c_bool, ctypes.c_uint64, ctypes.c_uint32),
    *(ctypes.c_void_p, ctypes.c_size_t),
)


@dataclass(frozen=True)
class RustCall:
    """What a worker calls with a batch; it can be pickled.

    A panic is an error of the run. A stack overflow or an exit of the function's ends
    the worker, as nothing could keep it from that.

    Parameters
    ----------
    library
        The compiled function.
    types
        Of its arguments: of an aggregate those of the lists.
    result
        The type of its result.
    options
        Of an async function.
    """

    library: Library
    types: Sequence[pa.DataType]
    result: pa.DataType
    options: UdfOptions

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        """Call it.

        Raises
        ------
        RunProblem
            With its text when it panicked, or when a call took too long.
        """
        if not len(arrays[0]):
            return pa.nulls(0, self.result)
        given = [array.cast(t) for array, t in zip(arrays, self.types, strict=True)]
        pairs, result = _Pairs(len(given)), _Pairs(1)
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        entry = getattr(self.library.loaded(), _ENTRY)
        entry.argtypes, entry.restype = _SIGNATURE, ctypes.c_int32
        pairs.export(given)
        status = entry(
            *(pairs.address, len(given), result.address),
            *self._options(),
            *(message, len(message)),
        )
        if status == _DONE:
            return result.imported().cast(self.result)
        name = self.library.name
        if status == _TIMED_OUT:
            limit = self.options.timeout.total_seconds()
            raise RunProblem(
                timed_out("Rust", name, limit),
                hint='#[udf(timeout = "1m")] gives each call more time',
            )
        # A panic may have lines: of a wrong pattern it draws where.
        lines = message.value.decode(errors="replace").splitlines()
        said = " ".join(filter(None, map(str.strip, lines)))
        raise RunProblem(
            failed("Rust", name, said),
            hint="lines are those of its source; a function that returns Option can "
            "give None instead",
        )

    def _options(self) -> tuple[bool, int, int]:
        options = self.options
        timeout_us = round(options.timeout.total_seconds() * 1e6)
        return options.ordered, timeout_us, options.allowed_in_flight


class _Pairs:
    """Room for arrays and their schemas, side by side."""

    def __init__(self, count: int) -> None:
        self._words = (ctypes.c_uint64 * (count * _PAIR // 8))()
        self.address = ctypes.addressof(self._words)

    def export(self, arrays: Sequence[pa.Array]) -> None:
        """Put arrays there: who takes them releases them."""
        done = 0
        try:
            for place, array in enumerate(arrays):
                array._export_to_c(*self._addresses(place))
                done += 1
        except BaseException:
            for place in range(done):
                self.imported(place)  # and thereby released
            raise

    def imported(self, place: int = 0) -> pa.Array:
        """Take one from there."""
        return pa.Array._import_from_c(*self._addresses(place))

    def _addresses(self, place: int) -> tuple[int, int]:
        at = self.address + place * _PAIR
        return at, at + _ARROW_ARRAY
