"""A real broker of one process, for notebooks and tests, without Docker."""

from arroyo_nb.kafka.local.broker import LocalBroker

__all__ = ["LocalBroker"]
