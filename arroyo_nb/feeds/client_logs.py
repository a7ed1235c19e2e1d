"""Keeps the clients of HTTP from logging what is secret.

They log each URL, and in detail each header: with the values that a script only refers
to. A log of a job is no place for these.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_LOGGERS = (
    "httpx",
    *(f"httpcore.{name}" for name in ("connection", "http11", "http2", "proxy")),
)
_LOCAL = threading.local()


@contextmanager
def unlogged() -> Iterator[None]:
    """Requests that this thread sends are in no log; those of others are as before."""
    _install()
    _LOCAL.is_ours = True
    try:
        yield
    finally:
        _LOCAL.is_ours = False


def silent_logger() -> logging.Logger:
    """A logger of warnings alone, for a client that takes one."""
    logger = logging.getLogger(f"{__name__}.client")
    logger.setLevel(logging.WARNING)
    return logger


@cache
def _install() -> None:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_others)


def _is_others(_record: logging.LogRecord) -> bool:
    return not getattr(_LOCAL, "is_ours", False)
