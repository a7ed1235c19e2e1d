"""The library's client, which tells why its thread ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import MQTTErrorCode


class ReportingClient(Client):
    """A client whose loop ends with a report, whatever comes.

    What is not MQTT ends the library's thread without a word; to who waits for messages
    that would look like a broker that has none.
    """

    on_failure: Callable[[Exception], None]

    def loop_forever(self, *arguments: Any, **settings: Any) -> MQTTErrorCode:
        """Receive and send until the connection ends."""
        try:
            return super().loop_forever(*arguments, **settings)
        except Exception as problem:
            self.on_failure(problem)
            return MQTTErrorCode.MQTT_ERR_PROTOCOL
