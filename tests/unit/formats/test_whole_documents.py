"""A file that is no lines of records is told how it becomes one."""

import pytest

from arroyo_nb.codecs.bad_records import DROP_HINT, refusal
from arroyo_nb.formats.json.foreign_files import CSV_HINT, LINES_HINT, conversion_hint
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
    bad = BadRow.in_file(name, line, text, "invalid JSON")
    assert refusal(bad, conversion_hint(bad)).hint == hint
