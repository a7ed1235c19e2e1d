"""Random values that follow from a seed and the number of an event alone.

Whichever chunks a run happens to cut, and wherever it goes on after a kill, event *n*
is the same. So there is no generator with a state: each value is a hash of the seed,
the event's number and the place that asks, by the finalizer of SplitMix64 (Steele, Lea,
Flood: Fast Splittable Pseudorandom Number Generators, 2014), over whole arrays.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_ALPHABET = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

LONGEST_TEXT = 700
"""Characters of the longest random text."""

_SHORT, _SHORT_VARIANTS, _LONG_VARIANTS = 100, 1024, 64
"""Texts below so many characters have that many variants of each length."""


class Draws:
    """Values for a batch of events, each draw an array with one value an event.

    Two draws of the same batch are independent of each other: each has its own number,
    counted in the order of the calls, which is therefore part of what a seed means.

    Parameters
    ----------
    seed
        Of all events.
    numbers
        Those of the events.

    >>> import numpy as np
    >>> [float(u) for u in Draws(7, np.array([3, 4])).uniform().round(3)]
    [0.043, 0.139]
    >>> float(Draws(7, np.array([4])).uniform().round(3)[0])
    0.139
    """

    def __init__(self, seed: int, numbers: NDArray[np.int64]) -> None:
        import numpy as np

        keyed = np.uint64((seed * 2 + 1) * _GOLDEN % 2**64)
        self._keys = _mixed(numbers.astype(np.uint64) * np.uint64(_GOLDEN) + keyed)
        self._asked = 0

    def uniform(self) -> NDArray[np.float64]:
        """Numbers in [0, 1)."""
        import numpy as np

        self._asked += 1
        step = np.uint64(self._asked * _GOLDEN % 2**64)
        # 53 bits fill the mantissa, so that 1 is never reached by rounding.
        bits = _mixed(self._keys + step) >> np.uint64(11)
        return bits.astype(np.float64) * np.float64(2.0**-53)

    def below(self, bounds: ArrayLike) -> NDArray[np.int64]:
        """Integers in [0, bound), of one bound or of one for each event; 0 where a
        bound is 0."""
        import numpy as np

        drawn = self.uniform() * np.asarray(bounds, np.float64)
        return drawn.astype(np.int64)

    def texts(self, lengths: NDArray[np.int64]) -> pa.Array:
        """Letters and digits, of so many characters."""
        import numpy as np

        variants = np.where(lengths < _SHORT, _SHORT_VARIANTS, _LONG_VARIANTS)
        starts = _starts()[lengths]
        return _texts().take(starts + self.below(variants))

    def words(self, longest: int) -> pa.Array:
        """Texts of 3 up to one less than so many characters."""
        return self.texts(3 + self.below(longest - 3))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    import numpy as np

    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@cache
def _starts() -> NDArray[np.int64]:
    """Where the texts of each length begin among all."""
    import numpy as np

    variants = np.full(LONGEST_TEXT + 2, _LONG_VARIANTS)
    variants[:_SHORT] = _SHORT_VARIANTS
    return np.concatenate(([0], np.cumsum(variants)[:-1]))


@cache
def _texts() -> pa.Array:
    """Texts to take from, as to draw each character of each event would be most of the
    work: 16 MB, made once in a process, the same in each."""
    import numpy as np
    import pyarrow as pa

    lengths = np.repeat(np.arange(LONGEST_TEXT + 1), np.diff(_starts()))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    letters = np.frombuffer(_ALPHABET, np.uint8)
    drawn = np.random.default_rng(0).integers(0, len(letters), offsets[-1], np.uint8)
    data = letters[drawn].tobytes()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)
