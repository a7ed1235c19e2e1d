"""``arroyo-nb kafka``: a broker on this machine, for tests and for trying things."""

from __future__ import annotations

import argparse
import signal
from importlib.util import find_spec

from arroyo_nb.cli.arguments import Commands, add_command
from arroyo_nb.cli.exit_codes import FINISHED, UsageProblem
from arroyo_nb.kafka.errors import missing_client
from arroyo_nb.kafka.local import shared
from arroyo_nb.registry import did_you_mean

NAME = "kafka"
_BROKER_WORDS = ("start", "stop", "status")
WORDS = (*_BROKER_WORDS, "create", "serve")
EXAMPLES = {
    NAME: """\
  arroyo-nb kafka start
  arroyo-nb kafka create orders --partitions 2
  arroyo-nb kafka stop"""
}
NO_BROKER = "there is no local broker"
HINT = "arroyo-nb kafka start makes a local one"


def add_to(commands: Commands) -> None:
    """Add the command."""
    text = "start or stop a Kafka broker on this machine, for tests; or say where it is"
    kafka = add_command(commands, NAME, text, _kafka)
    kafka.add_argument(
        "word",
        metavar="|".join(WORDS),
        choices=WORDS,
        help="start it in the background, with no data; stop it, and delete its data; "
        "create a topic; or be it in the foreground, until Ctrl-C",
    )
    kafka.add_argument("topic", metavar="TOPIC", nargs="?", help="of create: its name")
    said = "of create: how many, else 1"
    kafka.add_argument("--partitions", type=int, default=1, metavar="N", help=said)


def broker(word: str) -> str:
    """Start or stop the broker of this machine; what is said of it.

    Raises
    ------
    ArroyoError
        When it cannot be started, or the word is none of ``start``, ``stop`` and
        ``status``.
    """
    if word not in _BROKER_WORDS:
        raise UsageProblem(
            f"'{NAME} {word}' is not a command here",
            hint=did_you_mean(word, _BROKER_WORDS)
            or f"known: {', '.join(f'{NAME} {each}' for each in _BROKER_WORDS)}; "
            "a topic is made by arroyo-nb kafka create in a shell",
        )
    if word == "start":
        from arroyo_nb.cli.headless import say_aside

        started = shared.start(say_aside)
        if find_spec("confluent_kafka") is None:
            say_aside(f"to look into its topics: {missing_client().hint}")
        return f"Kafka is at {started.bootstrap_servers}"
    if word == "stop":
        return "stopped the local broker" if shared.stop() else NO_BROKER
    there = shared.shared_broker()
    if there is None:
        return f"{NO_BROKER}: {HINT}"
    return f"Kafka is at {there.bootstrap_servers}, process {there.pid}"


def servers(usage: str) -> str:
    """Where the broker of this machine is.

    Raises
    ------
    UsageProblem
        When there is none; ``usage`` is how another is named.
    """
    if (there := shared.shared_broker()) is None:
        raise UsageProblem(
            "there is no local broker to ask", hint=f"{usage} asks another; {HINT}"
        )
    return there.bootstrap_servers


def _kafka(arguments: argparse.Namespace) -> int:
    from arroyo_nb.cli.headless import say_aside

    if (arguments.word == "create") != bool(arguments.topic):
        raise UsageProblem("arroyo-nb kafka create takes the name of a topic")
    if arguments.word == "create":
        there = shared.shared_broker()
        if there is None:
            raise UsageProblem("there is no local broker", hint=HINT)
        there.create_topic(arguments.topic, arguments.partitions)
        print(f"created '{arguments.topic}' at {there.bootstrap_servers}")
    elif arguments.word == "serve":
        # Its end deletes its data: SIGTERM is heard as an interrupt is.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        shared.serve(say_aside)
    else:
        print(broker(arguments.word))
    return FINISHED
