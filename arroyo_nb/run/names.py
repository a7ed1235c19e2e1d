"""Names of runs: made from a script where it has none, and as parts of paths."""

from __future__ import annotations

import hashlib
import re


def script_name(sql: str) -> str:
    """A name for a script that has none: the same text has the same name."""
    return "run-" + hashlib.sha256(sql.encode()).hexdigest()[:8]


def safe_name(name: str) -> str:
    """The name as one path component, distinct for distinct names.

    >>> safe_name("flights by hour")
    'flights_by_hour-277231eb'
    >>> safe_name("plain")
    'plain'
    """
    cleaned = re.sub(r"[^\w-]", "_", name, flags=re.ASCII)[:60]
    if cleaned == name and name:
        return name
    # Also a name that is refused later has a place, so that its own error is told.
    written = name.encode(errors="surrogatepass")
    return f"{cleaned}-{hashlib.sha256(written).hexdigest()[:8]}"
