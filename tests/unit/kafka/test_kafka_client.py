"""The client where it is not installed."""

from __future__ import annotations

import sys

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.peek.topics import topics


def test_a_client_that_is_missing_is_told_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", None)
    with pytest.raises(RunProblem) as caught:
        topics("127.0.0.1:1", check=lambda: None)
    assert caught.value.hint == "pip install 'arroyo-nb[kafka]'"
