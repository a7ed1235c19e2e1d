"""Kafka: how topics are read, written and recorded, and a broker for a notebook.

Python's client is librdkafka's: ``pip install 'arroyo-nb[kafka]'``. Spark has a client
of its own, see :data:`arroyo_nb.engine.jars.CONNECTOR`. Spark's Python workers load
modules of this package, so it loads none by itself.
"""
