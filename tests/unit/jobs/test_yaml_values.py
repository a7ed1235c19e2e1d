"""YAML as plain values with places."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs import yaml_values as document
from arroyo_nb.source import ScriptText, Span

ODD = " \t\n\r'\"#:-ab|{}\x85\u2028\ufeffé\U0001f600"
TEXTS = st.text() | st.text(alphabet=ODD)
BLOCKS = st.lists(TEXTS, min_size=2).map("\n".join)


def refused(text):
    with pytest.raises(PromoteProblem) as caught:
        document.read(ScriptText(text, "job.yaml"))
    return str(caught.value)


@given(TEXTS)
@example("SELECT 1, \n\t2\n")
@example("  first line further in\nthan the second")
def test_every_text_comes_back_and_is_written_the_same_again(text):
    value = {"sql": text, "tables": [{"name": "a", "sql": text}]}
    written = document.write(value)
    assert document.read(ScriptText(written)).plain == value
    assert document.write(value) == written


@given(BLOCKS)
def test_places_in_a_block_are_those_of_its_characters(text):
    source = ScriptText(document.write({"tables": [{"sql": text}]}))
    (table,) = document.read(source).listed("tables")
    item = table.entries["sql"]
    if source.text[item.span.start] != "|":
        return
    for at, char in enumerate(text):
        found = document.place(source, item, Span(at, at + 1))
        assert char.isspace() or source.text[found.start : found.end] == char


def test_lines_are_kept_as_they_are_where_yaml_can():
    text = "SELECT a, \n\tb\nFROM t -- é\n"
    assert document.write({"sql": text}) == "sql: |\n" + "".join(
        f"  {line}\n" for line in text.splitlines()
    )


@pytest.mark.parametrize("written", ["SELECT a", "'SELECT a'", '"SELECT a"'])
def test_a_text_in_one_line_has_its_places(written):
    source = ScriptText(f"sql: {written}")
    item = document.read(source).entries["sql"]
    found = document.place(source, item, Span(7, 8))
    assert source.text[found.start : found.end] == "a"
    assert found.start == source.text.index("a", 5)


def test_a_text_that_is_written_in_another_way_has_one_place():
    source = ScriptText(r'sql: "SELECT \"a\""')
    item = document.read(source).entries["sql"]
    assert document.place(source, item, Span(8, 9)) == item.span


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x 1\nb: *x", "1:4: anchors and aliases are not read"),
        ("a: 1\na: 2", "2:1: 'a' stands here twice"),
        ("a: !!python/object/apply:os.system [ls]", "1:4: the tag 'tag:yaml.org"),
        ("a: !mine 1", "1:4: a value of the kind '!mine' is not read"),
        ("a: 2024-01-01", "1:4: a value of the kind 'timestamp' is not read"),
        ("a: !!int word", "1:4: 'word' is not what its tag says"),
        ("on: 1", "1:1: a key must be a text"),
        ("? [a]\n: 1", "1:3: a key must be a text"),
        ("a: [1", "1:6: this is not YAML: expected ',' or ']'"),
        ("a: \x07", "1:4: this is not YAML: the character #x0007"),
        ("a: 1\n--- \nb: 2", "2:1: this is not YAML: but found another document"),
        ("# nothing", "1:1: there is nothing in it"),
        ("[" * 21 + "]" * 21, "1:21: nested deeper than 20 levels"),
    ],
)
def test_what_is_more_than_plain_values_is_refused_with_its_place(text, said):
    assert refused(text).startswith(f"job.yaml:{said}")
    assert "^" in refused(text) or text.startswith("#")
