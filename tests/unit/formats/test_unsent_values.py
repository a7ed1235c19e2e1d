"""Values that Debezium could not send, and its placeholder for them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from arroyo_nb.formats import FORMATS
from arroyo_nb.run.sources.fit_notes import recorded_notes
from arroyo_nb.run.table_head import head, head_notes
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema
from arroyo_nb.session import Session

COLUMNS = Schema((Field("id", BIGINT), Field("bio", TEXT), Field("doc", TEXT)))
UNSENT = "__debezium_unavailable_value"
AS_BYTES = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="


def change(op, after, before=None):
    return json.dumps({"op": op, "before": before, "after": after}).encode()


@pytest.mark.parametrize(
    ("bio", "doc", "wanted"),
    [("long", None, 0), (UNSENT, UNSENT, 1), ("a", AS_BYTES, 1), (f"{UNSENT}!", "", 0)],
)
def test_changes_with_the_placeholder_are_counted(bio, doc, wanted):
    row = {"id": 1, "bio": bio, "doc": doc}
    # The exact reader reads what the one of whole blocks refuses.
    for extra in ([], [b"{no"]):
        records = [change("c", {"id": 1, "bio": "x"}), change("u", row), *extra]
        made = FORMATS.get("debezium_json").payload_decoder(COLUMNS, {}, None, ("id",))
        found = made.decode(pa.array(records, pa.binary()))
        assert found.counts.unsent == wanted
        assert len(found.bad) == len(extra)


def test_what_a_row_was_before_does_not_count():
    deleted = change("d", None, {"id": 1, "bio": UNSENT})
    made = FORMATS.get("debezium_json").payload_decoder(COLUMNS, {}, None, ("id",))
    assert made.decode(pa.array([deleted])).counts.unsent == 0


def test_they_are_told_and_changes_have_their_signs(tmp_path):
    records = [
        change("c", {"id": 1, "bio": "long"}),
        change("u", {"id": 1, "bio": UNSENT}, {"id": 1, "bio": "long"}),
        b"null",
    ]
    with Session() as session:
        session.emit(tmp_path / "t", records, wait=True)
        session.run(
            "CREATE TABLE t (id INT PRIMARY KEY, bio TEXT) WITH (connector = 'tape', "
            f"path = '{tmp_path / 't'}', format = 'debezium_json')"
        )
        table = session.catalog.get("t")
        (note,) = recorded_notes(table)
        assert note.startswith(f"1 change has '{UNSENT}' for a value that the database")
        found = head(session.engine, table, 5)
        signs, told = head_notes(table, found)
        assert signs.startswith("+ is a row as a change has made it")
        assert told == note
        assert found.shown["+/-"].to_pylist() == ["+", "-", "+"]
        # What Python gets has the columns of the table alone.
        assert session.head("t").column_names == ["id", "bio"]
