"""Regular expressions, judged without a library; each verdict is Rust's."""

from __future__ import annotations

import pytest

from arroyo_nb.functions.patterns import fault


@pytest.mark.parametrize(
    "pattern",
    [
        *("", r"\\", r"\(a\)", r"(\d+)-(?:x)(?<name>y)(?P<other_1>z)"),
        *(r"\p{L}+(\pN)[[:alpha:](]", r"(?i)a(?i)(b)(?s:c)", "(?x) a # ("),
        *(r"[]{(]x{2}{3}y{1,}", "a++", r"\x{1F600}\u00e9[\x41-\x5A]", r"\\1[\b]"),
    ],
)
def test_a_pattern(pattern: str) -> None:
    assert fault(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "a)", "[", "[^]", "*", "(|+)", "a**", "a{", "{", "a{2,1}", "a{,3}"),
        *("a\\", r"\y", r"\Q(\E", "[z-a]", "(?", "(?<", "(?[a])"),
        *(r"\\(", "a(?=b)", "(?<!a)b", "(?>a)", r"(a)\1", r"(?<n>a)\k<n>"),
    ],
)
def test_what_is_no_pattern(pattern: str) -> None:
    assert fault(pattern)
