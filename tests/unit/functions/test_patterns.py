"""Regular expressions, judged without a JVM; each verdict is Java's."""

from __future__ import annotations

import pytest

from arroyo_nb.functions.patterns import fault, groups, java


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("", 0),
        (r"\\", 0),
        (r"\(a\)", 0),
        (r"(\d+)-(?:x)(?<name>y)(?P<other>z)", 3),
        (r"\p{L}+(\pN)[[:alpha:](]", 1),
        (r"(?i)a(?i)(b)(?s:c)", 1),
        (r"(?<=a+)(b)(?!c)", 1),
        (r"[]{(]x{2}{3}y{1,}", 0),
        (r"a++(?>b)$*", 0),
        (r"\x{1F600}\u00e9[\x41-\x5A]", 0),
        ("(?x) a # (", 0),
        (r"(a)\1", 1),
    ],
)
def test_a_pattern_and_its_groups(pattern: str, number: int) -> None:
    assert fault(pattern) is None
    if "#" not in pattern:
        assert groups(pattern) == number


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "a)", "[", "[^]", "*", "(|+)", "a**", "a{", "{", "a{2,1}", "a{,3}"),
        *("a\\", r"\y", r"\Q(\E", "[z-a]", "(?", "(?<", "(?[a])", "(?P<a_b>x)"),
        r"\\(",
    ],
)
def test_what_is_no_pattern(pattern: str) -> None:
    assert fault(pattern)


def test_names_of_groups_are_written_as_java_does() -> None:
    assert java("(?P<y>a)(?<z>b)(?:c)") == "(?<y>a)(?<z>b)(?:c)"
