"""The SQL of the pages about feeds, message brokers and formats: each script plans."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.formats import FORMATS
from arroyo_nb.plan.planner import plan_script

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = ("feeds", "message-brokers", "avro-and-protobuf", "protobuf")
SHOWN = {
    *("sse", "websocket", "polling_http", "webhook", "mqtt", "nats", "redis"),
    *("avro", "protobuf"),
}
"""Connectors and formats that have an example on one of the pages."""

_BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"\b(?:connector|format) = '(\w+)'")


def scripts(page: str) -> list[str]:
    return _BLOCK.findall((HOW_TO / f"{page}.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_of_a_page_plan_one_after_the_other(page: str) -> None:
    catalog = Catalog()
    for script in scripts(page):
        catalog = plan_script(script, catalog).catalog


def test_each_of_them_is_shown() -> None:
    named = {
        name for page in PAGES for s in scripts(page) for name in _NAMED.findall(s)
    }
    assert named >= SHOWN
    assert {*CONNECTORS.names, *FORMATS.names} >= SHOWN
