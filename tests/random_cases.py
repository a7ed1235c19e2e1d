"""A random query, what happens to its tables meanwhile, and what is simpler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from random_histories import Batch, history
from random_queries import query


@dataclass(frozen=True)
class Case:
    """A query, and what happens to its tables.

    Parameters
    ----------
    seed
        Of all that is random when it runs.
    restarts
        Batches before which the query is started anew on its states.
    """

    query: str
    history: list[Batch]
    seed: int
    restarts: frozenset[int] = frozenset()

    @classmethod
    def of(cls, seed: int) -> Case:
        """One of many."""
        random = Random(seed)
        text = query(random)
        restarts = frozenset(random.sample(range(1, 5), random.randint(0, 2)))
        return cls(text, history(random, text), seed, restarts)

    def __str__(self) -> str:
        batches = (f"  {number}: {batch}" for number, batch in enumerate(self.history))
        return "\n".join((self.query, *batches, f"  restarts: {set(self.restarts)}"))


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A failing case of which no part alone fails."""
    simpler = next(filter(fails, _simpler(case)), None)
    return case if simpler is None else smallest(simpler, fails)


def _simpler(case: Case) -> Iterator[Case]:
    """A part of the query, of the history, of a batch."""
    for found in re.finditer(r"\(SELECT ", case.query):
        yield replace(case, query=_bracketed(case.query, found.start()))
    if case.restarts:
        yield replace(case, restarts=frozenset())
    for number, batch in enumerate(case.history):
        before, after = case.history[:number], case.history[number + 1 :]
        if before or after:
            yield replace(case, history=before + after)
        for name, told in batch.items():
            for place in range(len(told)):
                fewer = {**batch, name: told[:place] + told[place + 1 :]}
                yield replace(case, history=[*before, fewer, *after])


def _bracketed(text: str, start: int) -> str:
    """What the bracket at a place holds."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return text[start + 1 : place]
    raise ValueError(text)
