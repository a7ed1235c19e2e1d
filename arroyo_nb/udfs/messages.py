"""The sentences of a function that failed, in Arroyo's words.

A worker raises them as text. So who reads such an error finds the function's name by
what stands around it.
"""

from __future__ import annotations

import re

_NAMED = re.compile(r"\b(?:Python|Rust) UDF '(\w+)'")


def failed(language: str, name: str, said: str) -> str:
    """A call that failed.

    >>> failed("Python", "ratio", "ZeroDivisionError: division by zero")
    "failed while calling Python UDF 'ratio': ZeroDivisionError: division by zero"
    """
    return f"failed while calling {language} UDF '{name}': {said}"


def unfit(language: str, name: str, said: str) -> str:
    """A result that is not of the type that the function says."""
    return f"could not convert results from {language} UDF '{name}' to arrow: {said}"


def timed_out(language: str, name: str, limit_s: float) -> str:
    """A call of an async function that took too long."""
    return (
        f"a call of the {language} UDF '{name}' took longer than its timeout of "
        f"{limit_s:g} s"
    )


def named_in(message: str) -> str | None:
    """The function that a message is about; None: it is about none.

    >>> named_in(failed("Python", "ratio", "ZeroDivisionError"))
    'ratio'
    """
    found = _NAMED.search(message)
    return found and found[1]
