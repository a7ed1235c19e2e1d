"""What looks like a password or a key in a text, so that nobody prints it.

A script may have secrets anywhere: in an option, in pairs within an option, in a URL.
They are found by the names before them, so a text that is no SQL is searched alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = (
    r"(?:[\w.]*(?:passw|pasw|secret|token|credential|authorization|api_?key)[\w.]*"
    r"|auth\.(?:pa\w*|jwt|nkey_seed)|[\w.]*\.(?:pem|jaas\.config))"
)
# Without a comma: another header may stand behind it. A reference is no secret.
_HEADER = (
    r"(?:(?:proxy-)?authorization|cookie|(?:x-)?(?:api|auth|access)-?(?:key|token))"
    r"\s*:\s*(?P<header>(?![^'\",\n]*\{\{)[^\s'\",][^'\",\n]*)"
)
_TEXT = (
    r"(?:'(?P<quoted>(?:[^']|'')*)|\"(?P<doubly>[^\"]*)"
    r"|\$\$(?P<dollars>(?:[^$]|\$(?!\$))*))"
)
_SECRETS = re.compile(
    # An option, 'auth.password' = '...', also where that is not how it is written; or
    # the pairs within an option from the first that is one: it may have commas.
    rf"\b{_NAME}\b(?:[\"']?\s*(?:=>|==?|:)?\s*e?{_TEXT}"
    r"|[\"']?\s*=\s*(?P<pairs>(?!\{\{)[^\s'\"$=>][^')]*))"
    # A header of a request, among others.
    rf"|(?<![\w-]){_HEADER}"
    # Who logs in to a URL.
    r"|://(?P<url>[^\s/'\"]+)@",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\s*\{\{\s*\w+\s*\}\}\s*")


def is_secret(name: str) -> bool:
    """Whether what an option of that name is set to must not be shown."""
    return re.fullmatch(_NAME, name, re.IGNORECASE) is not None


def secrets(text: str) -> Iterator[range]:
    """Where a text has what looks like a secret; a reference to a variable is none.

    >>> list(secrets("'auth.password' = 'rose', 'auth.username' = 'ann'"))
    [range(19, 23)]
    """
    for found in _SECRETS.finditer(text):
        (name,) = (name for name, part in found.groupdict().items() if part is not None)
        if _REFERENCE.fullmatch(found[name]) is None:
            yield range(*found.span(name))


def hide_secrets(text: str) -> str:
    """The text with asterisks in place of secrets, of the same length and lines.

    >>> hide_secrets("'auth.password' = 'rose'")
    "'auth.password' = '****'"
    """
    parts, done = [], 0
    for place in secrets(text):
        hidden = re.sub(r"[^\n]", "*", text[place.start : place.stop])
        parts += [text[done : place.start], hidden]
        done = place.stop
    return "".join((*parts, text[done:]))
