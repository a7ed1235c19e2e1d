"""Errors of a cell tell the line that a notebook shows, the magic's own one counted."""

import pytest

from arroyo_nb.cell_body import cell_body, lines_above


class Shell:
    def __init__(self, code):
        self._code = code

    def get_parent(self):
        return {"content": {"code": self._code}}


@pytest.mark.parametrize(
    ("cell", "body", "above"),
    [
        ("%%arroyo\nSELECT 1", "SELECT 1\n", 1),
        ("\n\n%%arroyo\nSELECT 1\n\n", "SELECT 1\n\n", 3),
        ("%%time\n%%arroyo --wait\nSELECT 1", "SELECT 1\n", 2),
        ("%%arroyo\n\n\nSELECT\n1", "\n\nSELECT\n1\n", 1),
        ("  %%arroyo\n  SELECT 1\n    , 2", "SELECT 1\n  , 2\n", 1),
        ("%%arroyo\r\nSELECT 1\r\n", "SELECT 1\n", 1),
        ("%%arroyo\n", "", 1),
        # A program that calls the magic: its script has lines of its own.
        (
            "sql = make()\nget_ipython().run_cell_magic('arroyo', '', sql)",
            "SELECT 1",
            0,
        ),
        ("", "SELECT 1", 1),
    ],
)
def test_lines_above(cell, body, above):
    assert lines_above(cell, body) == above
    assert cell_body(Shell(cell), body).lines_above == above


def test_a_shell_without_requests():
    assert cell_body(object(), "SELECT x").place(7) == (2, 8)
