"""Values as text, where Spark writes them differently: SQL text in, SQL text out."""

from __future__ import annotations


def timestamp_text(value: str) -> str:
    """``2023-01-01T00:00:00``, without a zone.

    The fraction is there only when it is not zero, and then has 3 or 6 digits.
    Spark's own cast drops each trailing zero of a fraction, so a third or sixth digit
    is put back.

    Parameters
    ----------
    value
        SQL text of a timestamp; the session is UTC.
    """
    text = f"replace(CAST({value} AS STRING), ' ', 'T')"
    micros = f"pmod(unix_micros({value}), 1000000L)"
    digits = f"IF({micros} % 1000L = 0, 3, 6)"
    padded = f"rpad({text}, 20 + {digits}, '0')"
    return f"IF({micros} = 0, {text}, {padded})"
