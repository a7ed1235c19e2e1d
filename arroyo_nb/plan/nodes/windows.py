"""The windows of event time that rows are grouped into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Tumble:
    """Windows ``[n * width, (n + 1) * width)`` since the epoch, in UTC."""

    width: timedelta


@dataclass(frozen=True, slots=True)
class Hop:
    """Windows of ``width`` that start every ``slide``; a row lies in width / slide."""

    slide: timedelta
    width: timedelta


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Per key, runs of rows less than ``gap`` apart; end = last event time + gap."""

    gap: timedelta


Window: TypeAlias = Tumble | Hop | SessionWindow
