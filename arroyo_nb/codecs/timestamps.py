"""Values as text, where Spark writes them differently: SQL text in, SQL text out."""

from __future__ import annotations

_SECONDS = "yyyy-MM-dd'T'HH:mm:ss"


def timestamp_text(value: str) -> str:
    """``2023-01-01T00:00:00``, without a zone.

    The fraction is there only when it is not zero, and then has 3 or 6 digits.

    Parameters
    ----------
    value
        SQL text of a timestamp; the session is UTC.
    """
    micros = f"unix_micros({value})"
    return (
        f"CASE WHEN {micros} % 1000000L = 0 THEN {_formatted(value, '')} "
        f"WHEN {micros} % 1000L = 0 THEN {_formatted(value, '.SSS')} "
        f"ELSE {_formatted(value, '.SSSSSS')} END"
    )


def _formatted(value: str, fraction: str) -> str:
    return f'date_format({value}, "{_SECONDS}{fraction}")'
