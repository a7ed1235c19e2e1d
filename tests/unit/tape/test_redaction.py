"""Nothing of a redacted value is kept, whatever it looks like, and all else is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.tape.records import TapeRecord
from arroyo_nb.tape.redaction import EMPTIED, Redactor

CANARY = "canary"


def record(value=None, key=None, headers=None):
    return TapeRecord(0, 1, 2, key, value, headers)


def redacted(value, *fields, **given):
    found = Redactor(fields or ("secret",))(record(value, **given))
    return found.value


def test_a_value_is_replaced_and_the_rest_stays_as_it_was():
    text = b'{ "a" : 1.50e3,"secret"\n: "canary" , "b":[1, {"secret":"x"}] }'
    found = redacted(text)
    assert found.startswith(b'{ "a" : 1.50e3,"secret"\n: "redacted-')
    assert found.endswith(b'"}] }')
    assert b"canary" not in found
    assert json.loads(found)["b"][1]["secret"].startswith("redacted-")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", False), ("false", False), ("null", None), ('{"a": "canary"}', None),
     ('["canary"]', None)],
)  # fmt: skip
def test_what_has_no_token_has_one_value(value, expected):
    found = redacted(b'{"secret": %b, "n": 1}' % value.encode())
    assert json.loads(found) == {"secret": expected, "n": 1}


@pytest.mark.parametrize(
    "number", ["5", "-12345678901234567890", "1.5", "NaN", "1e999"]
)
def test_a_number_becomes_another_that_a_column_of_its_kind_takes(number):
    found = json.loads(redacted(b'{"secret": %b}' % number.encode()))["secret"]
    assert 0 <= found < 2**31
    assert isinstance(found, float) is (number in ("1.5", "NaN", "1e999"))


def test_equal_texts_have_equal_tokens_within_a_recording_only():
    one, other = Redactor(["secret"]), Redactor(["secret"])
    made = [one(record(b'{"secret": "canary"}')).value for _ in range(2)]
    assert made[0] == made[1]
    assert made[0] != other(record(b'{"secret": "canary"}')).value
    assert made[0] != one(record(b'{"secret": "Canary"}')).value


def test_a_key_without_a_name_has_the_token_of_its_text():
    found = Redactor(["secret"])(record(b'{"secret": "canary"}', key=b"canary"))
    assert found.key.decode() == json.loads(found.value)["secret"]
    found = Redactor(["secret"])(record(None, key=b'{"id": 1, "secret": "canary"}'))
    assert json.loads(found.key)["id"] == 1
    assert b"canary" not in found.key
    assert found.value is None


def test_a_header_is_replaced_by_its_name():
    headers = [("trace", b"1"), ("secret", b"canary"), ("secret", None)]
    found = Redactor(["secret"])(record(None, headers=headers))
    (trace, hidden, nothing) = found.headers
    assert (trace, nothing) == (("trace", b"1"), ("secret", None))
    assert hidden[1].startswith(b"redacted-")


@pytest.mark.parametrize(
    "value",
    [b'{"secret": "canary"', b'"canary"', b'["canary"]', b"canary", b"\xffcanary",
     b'\xef\xbb\xbf{"secret": "canary"}', b'{"secret": "canary"} canary', b"",
     b'{"a": "\n", "secret": "canary"}', b'{"a":' * 100_000],
)  # fmt: skip
def test_what_cannot_be_looked_into_is_not_kept(value):
    redactor = Redactor(["secret"])
    assert redactor(record(value)).value == EMPTIED
    assert redactor.emptied == 1


def test_a_document_behind_the_number_of_its_schema_is_looked_into():
    found = redacted(b'\0\0\0\0\x07{"secret": "canary"}')
    assert found.startswith(b'\0\0\0\0\x07{"secret": "redacted-')


def test_names_that_no_record_had_are_told():
    found = Redactor(["in", "deep", "head", "misspelt"])
    assert found.unmet == ("deep", "head", "in", "misspelt")
    found(record(b'{"a": {"de\\u0065p": 1}, "b": "misspelt"}', key=b'{"in": 2}'))
    found(record(None, headers=[("head", b"x"), ("misspelt", None)]))
    assert found.unmet == ("misspelt",)


def test_a_name_may_be_written_otherwise():
    found = redacted(b'{"\\u0073ecret": "canary", "a\\"secret": 1}')
    assert b"canary" not in found
    assert json.loads(found)['a"secret'] == 1


def test_of_a_name_that_is_there_twice_no_value_is_kept():
    assert b"canary" not in redacted(b'{"secret": "canary1", "secret": "canary2"}')


names = st.sampled_from(["secret", "other", 'se"cret', "secret\\"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | names, inner),
    max_leaves=20,
)


def expected(value, redact):
    match value:
        case dict():
            return {
                name: redact if name == "secret" else expected(inner, redact)
                for name, inner in value.items()
            }
        case list():
            return [expected(inner, redact) for inner in value]
        case _:
            return value


@given(st.dictionaries(names, JSON), st.booleans(), st.none() | st.just(2))
def test_of_any_document_only_that_is_replaced(document, ascii_, indent):
    text = json.dumps(document, ensure_ascii=ascii_, indent=indent)
    found = redacted(text.encode("utf-8", "surrogatepass"))
    if not ascii_ and any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert found == EMPTIED
        return
    assert expected(json.loads(found), None) == expected(document, None)
