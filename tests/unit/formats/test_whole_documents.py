"""A file that is no lines of records is told how it becomes one."""

import pytest

from arroyo_nb.codecs.bad_records import CSV_HINT, DROP_HINT, LINES_HINT, refusal
from arroyo_nb.tape import BadRow


@pytest.mark.parametrize(
    ("name", "line", "text", "hint"),
    [
        ("a.json", 1, '[{"ts": 1}, {"ts": 2}]', LINES_HINT),
        ("a.json", 1, "[", LINES_HINT),
        ("a.json", 1, "{", LINES_HINT),
        ("a.csv", 1, "id,ts", CSV_HINT),
        ("a.json", 7, "[1", DROP_HINT),
        ("a.json", 1, '{"ts": ', DROP_HINT),
    ],
)
def test_the_hint_names_the_conversion(name, line, text, hint):
    assert refusal(BadRow.in_file(name, line, text, "invalid JSON")).hint == hint
