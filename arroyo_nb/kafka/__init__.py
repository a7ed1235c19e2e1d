"""Kafka: topics are read, written and recorded; a broker for a notebook.

==================================  ==================================================
``config``                          how clients reach brokers, for both clients
``client``                          librdkafka's clients, all made here
``errors``                          one table: an error's name to its message
``cluster``                         requests to the brokers: topics, offsets, groups
``source``, ``source_end``          a topic as Spark reads it
``records``                         payloads into rows, in Spark's workers
``sink``, ``sink_records``          a sink's micro-batches, and rows as its records
``sink_task``                       its tasks in Spark's workers, with transactions
``recovery``, ``sink_watch``        what it wrote before; whether it can write at all
``topic_reader``, ``recording``     a topic onto a tape
``peek``, ``emit``, ``local``       a look into a topic; rows into one; a local broker
``connectors``, ``table``           the plug-ins, and what they have in common
==================================  ==================================================

Python's client is librdkafka's: ``pip install 'arroyo-nb[kafka]'``. Spark has a client
of its own, see :data:`arroyo_nb.engine.jars.CONNECTOR`. Spark's Python workers load
modules of this package, so it loads none by itself.
"""
