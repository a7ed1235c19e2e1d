"""The envelope around rows that are only appended (arroyo-semantics c.3)."""

import pytest

from arroyo_nb.errors import Unsupported
from arroyo_nb.formats import FORMATS
from arroyo_nb.formats.debezium_json import created_sql
from arroyo_nb.schema import BIGINT, Field, Schema

SCHEMA = Schema((Field("n", BIGINT),))


def test_rows_are_created():
    text = created_sql(SCHEMA, {})
    assert text.startswith("""concat('{"before":null,"after":', concat('{"n":',""")
    assert text.endswith(""", ',"op":"c"}')""")


def test_timestamps_and_decimals_are_what_debezium_has_for_them():
    defaults = {o.name: o.default for o in FORMATS.get("debezium_json").options}
    assert defaults["json.timestamp_format"] == "unix_millis"
    assert defaults["json.decimal_encoding"] == "bytes"
    assert defaults.keys() == {o.name for o in FORMATS.get("json").options}


def test_reading_is_refused():
    with pytest.raises(Unsupported):
        FORMATS.get("debezium_json").decoder(SCHEMA, {}, None)
