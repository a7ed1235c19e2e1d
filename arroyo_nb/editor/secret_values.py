"""Values of variables that are secrets by their names: no answer has one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from arroyo_nb.secrets_in_text import is_secret

HIDDEN = "********"

_PARAMETER = re.compile(r":(\w+)")


def secret_values(text: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names and values of the secrets that a text may name.

    >>> list(secret_values("SELECT :password, :id", {"password": "rose", "id": "7"}))
    [('password', 'rose')]
    """
    for name in dict.fromkeys(_PARAMETER.findall(text)):
        value = variables.get(name)
        if isinstance(value, str) and value and is_secret(name):
            yield name, value


def hide_values(answer: str, text: str, variables: Mapping[str, Any]) -> str:
    """An answer about a text without the values of the secrets that it may name."""
    for _, value in secret_values(text, variables):
        answer = answer.replace(value, HIDDEN)
    return answer
