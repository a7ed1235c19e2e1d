"""What a format declares is what it can do."""

from __future__ import annotations

import pytest

from arroyo_nb.connectors import connector_infos
from arroyo_nb.formats import (
    FORMATS,
    ChangeFormat,
    FileFormat,
    Framing,
    LineFormat,
    PayloadFormat,
    formats_of,
    usual_format,
)

PROTOCOLS = {
    Framing.LINES: LineFormat,
    Framing.VALUES: LineFormat,
    Framing.MESSAGES: PayloadFormat,
    Framing.FILES: FileFormat,
    Framing.LAKE_FILES: FileFormat,
}


def members(protocol: type) -> set[str]:
    """What a protocol asks for: its methods and its attributes."""
    names = {name for kind in protocol.__mro__ for name in vars(kind)}
    declared = {name for kind in protocol.__mro__ for name in _annotated(kind)}
    return {name for name in names | declared if not name.startswith("_")}


def _annotated(kind: type) -> set[str]:
    return set(getattr(kind, "__annotations__", {}))


@pytest.mark.parametrize("name", FORMATS.names)
def test_a_format_has_what_its_framings_need(name: str) -> None:
    format_ = FORMATS.get(name)
    assert format_.name == name
    assert format_.framings
    protocols = [PROTOCOLS[framing] for framing in format_.framings]
    if format_.updating:
        protocols.append(ChangeFormat)
    for protocol in protocols:
        assert {m for m in members(protocol) if not hasattr(format_, m)} == set()


def test_every_framing_of_a_connector_has_a_format() -> None:
    for info in connector_infos():
        assert all(formats_of([framing]) for framing in info.framings)


def test_one_format_of_rows_and_one_of_changes_is_usual() -> None:
    usual = [f for f in map(FORMATS.get, FORMATS.names) if f.usual]
    assert sorted(f.updating for f in usual) == [False, True]
    assert formats_of(Framing)[0] == usual_format()
    assert formats_of([Framing.FILES, Framing.VALUES])[0] == usual_format()
