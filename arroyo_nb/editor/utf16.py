"""Places of a browser, in UTF-16 code units, and places of Python, in characters."""

from __future__ import annotations

from bisect import bisect_left


class Utf16Places:
    """Converts the places of one text.

    >>> places = Utf16Places("a🛫b")
    >>> [places.to_units(at) for at in range(4)], places.to_characters(3)
    ([0, 1, 3, 4], 2)
    """

    def __init__(self, text: str) -> None:
        # Only these take two units.
        self._wide = [at for at, char in enumerate(text) if ord(char) > 0xFFFF]
        self._wide_units = [at + before for before, at in enumerate(self._wide)]

    def to_units(self, at: int) -> int:
        """The UTF-16 code units before a character."""
        return at + bisect_left(self._wide, at)

    def to_characters(self, units: int) -> int:
        """The characters before a code unit; inside a pair, those before the pair."""
        return units - bisect_left(self._wide_units, units)
