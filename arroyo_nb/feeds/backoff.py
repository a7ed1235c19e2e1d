"""How long to wait before a server is tried again."""

from __future__ import annotations

import random


def backoff_s(tries: int, first_s: float, longest_s: float) -> float:
    """The seconds to wait: twice as long each time, and by chance a little less, so
    that many clients do not come at once.

    Parameters
    ----------
    tries
        How many have failed before.
    first_s, longest_s
        The first wait, and the longest one.
    """
    usual_s: float = min(longest_s, first_s * 2.0 ** min(tries, 16))
    return usual_s * random.uniform(0.5, 1.0)
