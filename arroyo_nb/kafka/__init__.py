"""Kafka: a real broker for a notebook, and what its topics hold.

:class:`LocalBroker` needs a Java and no Docker. Reading and writing topics from Python
needs the client: ``pip install 'arroyo-nb[kafka]'``. Spark has a client of its own, see
:data:`arroyo_nb.engine.jars.CONNECTOR`.
"""

from arroyo_nb.kafka.broker import LocalBroker

__all__ = ["LocalBroker"]
