"""``arroyo-nb kafka start``, and what other commands then find at it."""

from __future__ import annotations

import re

from arroyo_nb.cli import main
from arroyo_nb.kafka.local import shared
from arroyo_nb.session import Session


def test_a_broker_is_started_looked_at_and_stopped(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(shared, "_note", lambda: tmp_path / "broker.json")
    monkeypatch.setattr(
        shared,
        "COMMAND",
        ("-c", SERVE.format(note=str(tmp_path / "broker.json"))),
    )

    def said(*words: str) -> str:
        assert main([*words]) == 0
        return capfd.readouterr().out

    servers = re.search(r"at (127\.0\.0\.1:\d+)", said("kafka", "start"))
    assert servers is not None
    try:
        assert said("kafka", "start") == f"Kafka is at {servers[1]}\n"
        assert "created 'orders'" in said("kafka", "create", "orders")
        with Session() as session:
            session.emit("orders", [{"id": 1}, {"id": 2}], servers=servers[1])
        assert re.search(r"orders +1 +2", said("topics"))
        shown = said("peek", "orders", "-n", "1")
        assert "id BIGINT NOT NULL" in shown
        assert "next cell" not in shown
    finally:
        assert "stopped" in said("kafka", "stop")
    assert "no local broker" in said("kafka", "status")


SERVE = """
from pathlib import Path
from arroyo_nb.cli import main
from arroyo_nb.kafka.local import shared
shared._note = lambda: Path({note!r})
main(["kafka", "serve"])
"""
