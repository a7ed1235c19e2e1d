"""The committed pages of ``docs/reference`` are those of the code."""

from __future__ import annotations

import difflib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("made", DOCS / "reference_pages.py")
assert spec is not None
assert spec.loader is not None
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)

LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


@pytest.mark.parametrize("name", made.PAGES)
def test_a_committed_page_is_what_would_be_made_now(name, monkeypatch):
    if name == "command-line.md" and sys.version_info >= (3, 13):
        pytest.skip("argparse writes options otherwise since Python 3.13")
    monkeypatch.setenv("COLUMNS", "37")  # a page depends on no terminal
    committed = (DOCS / "reference" / name).read_text("utf-8")
    now = made.page_text(name)
    lines = difflib.unified_diff(
        committed.splitlines(), now.splitlines(), name, "now", n=0, lineterm=""
    )
    assert committed == now, "\n".join(["type: make reference", *lines])


@pytest.mark.parametrize("name", made.PAGES)
def test_a_page_can_be_read_without_sphinx(name):
    text = made.page_text(name)
    assert "```{" not in text, "a directive of Sphinx"
    assert not [
        link for link in LINK.findall(text) if not (DOCS / "reference" / link).exists()
    ]


def test_every_page_is_in_the_table_of_contents():
    contents = (DOCS / "index.md").read_text("utf-8")
    pages = [*(DOCS / "reference").glob("*.md"), *(DOCS / "platforms").glob("*.md")]
    listed = [page.relative_to(DOCS).with_suffix("").as_posix() for page in pages]
    assert [page for page in listed if f"\n{page}\n" not in contents] == []
