"""``%arroyo kafka``, ``topics``, ``peek`` and ``record``: the broker of a shell, a look
at it, and a recording of what it has.

Whatever takes long says so in an output that changes, and hears an interrupt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.kafka.peek.create_table import create_table
from arroyo_nb.kafka.peek.guess import guess
from arroyo_nb.kafka.peek.topics import SAMPLE, sample, topics
from arroyo_nb.run.interrupts import interruptible
from arroyo_nb.session import Session
from arroyo_nb.views import topics as views
from arroyo_nb.views.notebook import ProgressOutput, publish


class KafkaCommands:
    """What a shell's lines do.

    Parameters
    ----------
    session
        It has the broker that is started here.
    offer
        Puts a statement into the next cell; False: it has done so before.
    """

    def __init__(
        self, session: Session, offer: Callable[[str, str], bool] = lambda *_: False
    ) -> None:
        self._session = session
        self._offer = offer

    def close(self) -> None:
        """End the broker; its data goes with it."""
        broker, self._session.broker = self._session.broker, None
        if broker is not None:
            broker.close()

    def do(self, word: str) -> None:
        """Start the broker, stop it, or say whether there is one."""
        progress = ProgressOutput()
        if word == "start":
            self._start(progress)
        elif word == "stop":
            there = self._is_up()
            self.close()
            progress.tell("stopped the local broker" if there else "there is none")
        else:
            progress.tell(self._status())

    def topics(self, servers: str) -> None:
        """List the topics of a broker, this shell's by default."""
        with interruptible() as check:
            found = topics(self._session.servers(servers), check=check)
        publish(views.topics(found))

    def peek(self, topic: str, servers: str, rows: int) -> None:
        """Look into a topic, and guess a table for it, which the next cell has."""
        servers = self._session.servers(servers)
        with interruptible() as check:
            most = max(rows, SAMPLE)
            found, records = sample(servers, topic, check=check, most=most)
        guessed = guess((r.value for r in records), (r.key for r in records))
        statement = create_table(servers, topic, guessed) if records else ""
        offered = bool(statement) and self._offer(topic, statement)
        shown = views.Peek(found, records, guessed, statement, rows, offered)
        publish(views.peek(shown))

    def record(self, topic: str, servers: str, path: str, **options: Any) -> None:
        """Record a topic, and show a table for the tape."""
        progress = ProgressOutput()
        made = self._session.record(
            topic, path, servers=servers, tell=progress.tell, **options
        )
        progress.tell(str(made))
        publish(views.tape(made.statement))

    def _start(self, progress: ProgressOutput) -> None:
        if self._is_up():
            progress.tell(self._status())
            return
        self.close()
        broker, begun = LocalBroker(), time.monotonic()
        with interruptible() as check:
            broker.start(tell=progress.tell, check=check)
        self._session.broker = broker
        progress.tell(f"{self._status()}, after {time.monotonic() - begun:.1f} s")

    def _is_up(self) -> bool:
        broker = self._session.broker
        return broker is not None and broker.alive

    def _status(self) -> str:
        broker = self._session.broker
        if broker is None:
            return "there is no local broker: %arroyo kafka start"
        if not broker.alive:
            return "the local broker has ended: %arroyo kafka start makes a new one"
        return f"Kafka is at {broker.bootstrap_servers}"
