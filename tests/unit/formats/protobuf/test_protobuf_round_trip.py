"""Any message becomes the row that it is, and the row that message again."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proto_schemas import expected, messages, read, schemas, usual_columns

from arroyo_nb.formats.protobuf.encode import RowEncoder
from arroyo_nb.formats.protobuf.payloads import MessagePayloads

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


@settings(max_examples=50, suppress_health_check=SLOW)
@given(st.data())
def test_messages_are_rows_and_rows_are_messages(data):
    check(data)


@pytest.mark.long("formats")
@settings(max_examples=1000, suppress_health_check=SLOW)
@given(st.data())
def test_many_messages_are_rows_and_rows_are_messages(data):
    check(data)


def check(data):
    message = data.draw(schemas())
    made = data.draw(st.lists(messages(message.descriptor), max_size=4))
    schema = usual_columns(message)
    payloads = [one.SerializeToString() for one in made]
    found = read(MessagePayloads(message, schema, None), *payloads)
    assert found.bad == ()
    assert found.counts.unknown == 0
    found.rows.validate(full=True)
    assert found.rows.to_pylist() == [expected(one) for one in made]
    columns = [column.combine_chunks() for column in found.rows.columns]
    written = RowEncoder(message, schema)(columns, len(made))
    assert [message.message_class.FromString(one) for one in written] == made
