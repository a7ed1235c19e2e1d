"""The query for records that are JSON arrays."""

from arroyo_nb.kafka.peek.array_query import array_query


def test_a_name_of_half_a_character_is_left_out():
    query = array_query("t", [b'[{"\\ud800": 1, "n": 2}]'])
    query.encode()
    assert "AS n\nFROM" in query
    alone = array_query("t", [b'[{"\\ud800": 1}]'])
    assert alone == "SELECT unnest(extract_json(value, '$[*]')) AS item FROM t"
