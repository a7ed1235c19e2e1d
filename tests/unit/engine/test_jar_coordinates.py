"""The pinned sets as they are committed."""

from __future__ import annotations

import re

import pytest

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.jar_coordinates import (
    PINS,
    Coordinates,
    parse_coordinates,
    pinned,
)
from arroyo_nb.engine.jars import BROKER, CONNECTOR, JarSet


def test_coordinates_are_read_as_they_are_written() -> None:
    thing = Coordinates("org.example", "thing", "1.0")
    assert parse_coordinates(str(thing)) == thing
    assert thing.file == "thing-1.0.jar"


@pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d", "a::c", "a: b:c"])
def test_what_are_no_coordinates_is_told(text: str) -> None:
    with pytest.raises(EngineProblem, match="are no coordinates of a jar"):
        parse_coordinates(text)


@pytest.mark.parametrize("jars", [CONNECTOR, BROKER], ids=lambda jars: jars.name)
def test_every_pinned_jar_has_a_checksum(jars: JarSet) -> None:
    sums = pinned(jars.name)
    assert all(re.fullmatch(r"[0-9a-f]{64}", text) for text in sums.values())
    assert len({jar.file for jar in sums}) == len(sums) > 3


def test_the_first_pinned_jar_is_the_one_that_is_told() -> None:
    assert CONNECTOR.own is not None
    first = next(iter(pinned(CONNECTOR.name)))
    assert first[:2] == CONNECTOR.own[:2]
    assert next(iter(pinned(BROKER.name))).artifact == "kafka_2.13"


def test_every_set_is_used() -> None:
    assert {path.stem for path in PINS.iterdir()} == {BROKER.name, CONNECTOR.name}
