"""The history of each row of an updating result, from the changes in memory."""

from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pytest

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.run.observe.snapshot import KeyHistory
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.key_histories import NUMBERS
from arroyo_nb.schema import BIGINT, TEXT, Decimal, Field, Schema, arrow_type

SCHEMA = Schema((Field("k", TEXT), Field("n", BIGINT)))


def batch(*changes):
    """Of (key, value, weight); a row is named by its key."""
    keys, values, weights = zip(*changes, strict=True) if changes else ((), (), ())
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "n": pa.array(values, pa.int64()),
            WEIGHT: pa.array(weights, pa.int64()),
            ROW_ID: pa.array([ord(k) for k in keys], pa.int64()),
        }
    )


def update(key, before, after):
    return (key, before, -1), (key, after, 1)


def history(preview, key):
    found = preview.state().histories([ord(key)])
    return found[0] if found else None


def test_a_row_has_its_values_oldest_first_and_what_it_was_before():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1), ("b", 5, 1)), 0)
    preview.take(batch(*update("a", 1, None)), 1)
    preview.take(batch(*update("a", None, 4)), 2)
    preview.take(batch(("b", 5, -1)), 3)
    assert history(preview, "a") == KeyHistory(
        key=ord("a"),
        changes=3,
        batch_id=2,
        column="n",
        numbers=(1.0, None, 4.0),
        before=("a", None),
        is_created=True,
    )
    gone = history(preview, "b")
    assert (gone.changes, gone.numbers, gone.before) == (2, (5.0, None), ("b", 5))
    assert history(preview, "z") is None
    assert preview.state().histories([0]) == ()
    rows, keys = preview.state().newest_keyed(9)
    assert (rows, keys) == ([("a", 4)], (ord("a"),))


def test_a_history_is_that_of_the_batch_that_a_picture_shows():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1)), 0)
    before = preview.state()
    preview.take(batch(*update("a", 1, 2)), 1)
    assert [h.changes for h in before.histories([ord("a")])] == [1]
    assert history(preview, "a").numbers == (1.0, 2.0)
    # A batch that comes again takes the place of its first try.
    preview.take(batch(*update("a", 1, 9)), 1)
    assert history(preview, "a").numbers == (1.0, 9.0)


def test_what_is_no_longer_kept_is_not_counted():
    preview = ChangesPreview(SCHEMA, limit_rows=3)
    for n in range(6):
        preview.take(batch(*(update("a", n - 1, n) if n else (("a", 0, 1),))), n)
    found = history(preview, "a")
    assert (found.changes, found.is_created, found.updates) == (3, False, 3)
    assert found.numbers == (2.0, 3.0, 4.0, 5.0)


def test_at_most_the_newest_values_are_told():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 0, 1)), 0)
    for n in range(1, 100):
        preview.take(batch(*update("a", n - 1, n)), n)
    found = history(preview, "a")
    assert found.updates == 99
    assert found.numbers == tuple(map(float, range(100 - NUMBERS, 100)))


@pytest.mark.parametrize("kind", [BIGINT, Decimal(9, 2)])
def test_the_number_is_one_that_changes(kind):
    schema = Schema((Field("year", BIGINT), Field("n", kind)))
    preview = ChangesPreview(schema)

    def rows(*changes):
        years, values, weights = zip(*changes, strict=True)
        return pa.table(
            {
                "year": pa.array(years, pa.int64()),
                "n": pa.array(values, arrow_type(kind)),
                WEIGHT: pa.array(weights, pa.int64()),
                ROW_ID: pa.array(years, pa.int64()),
            }
        )

    preview.take(rows((2013, 1, 1)), 0)
    assert preview.state().histories([2013])[0].column == "year"
    preview.take(rows((2013, 1, -1), (2013, 2, 1)), 1)
    found = preview.state().histories([2013])[0]
    assert (found.column, found.numbers) == ("n", (1.0, 2.0))


def test_rows_without_a_number_have_a_count():
    preview = ChangesPreview(Schema((Field("k", TEXT),)))
    rows = pa.table({"k": ["x"], WEIGHT: [1], ROW_ID: [7]})
    preview.take(rows, 0)
    found = preview.state().histories([7])[0]
    assert (found.changes, found.column, found.numbers) == (1, "", ())


def test_an_ordered_result_has_keys_too():
    from arroyo_nb.plan.nodes import SortKey

    preview = ChangesPreview(SCHEMA, order=[SortKey("n", descending=True)], limit=2)
    preview.take(batch(("a", 1, 1), ("b", 2, 1), ("c", 3, 1)), 0)
    rows, keys = preview.state().newest_keyed(9)
    assert rows == [("c", 3), ("b", 2)]
    assert keys == (ord("c"), ord("b"))
    assert preview.table().to_pydict() == {"k": ["c", "b"], "n": [3, 2]}


def test_histories_are_those_that_the_changelog_tells():
    """Against the changelog that a user reads, on random changes."""
    random = Random(7)
    preview, there = ChangesPreview(SCHEMA, limit_rows=200), {}
    for number in range(120):
        made = []
        for key in random.sample("abcdefgh", random.randint(0, 4)):
            value = random.choice([None, *range(5)])
            if key in there:
                made.append((key, there.pop(key), -1))
            if random.random() < 0.8:
                made.append((key, value, 1))
                there[key] = value
        preview.take(batch(*made), number)
        if number % 10:
            continue
        told = preview.changelog().to_pylist()
        for key in "abcdefgh":
            own = [c for c in told if key in _names(c)]
            found = history(preview, key)
            if not own:
                assert found is None
                continue
            values = [c["after"] and c["after"]["n"] for c in own]
            if own[0]["op"] != "c":
                values.insert(0, own[0]["before"]["n"])
            expected = [None if v is None else float(v) for v in values]
            assert list(found.numbers) == expected[-NUMBERS:]
            assert found.changes == len(own)
            assert found.batch_id == own[-1]["batch"]
            before = own[-1]["before"]
            assert found.before == (before and tuple(before.values()))


def _names(change):
    return {image["k"] for image in (change["before"], change["after"]) if image}


def test_nothing_is_gathered_before_a_picture_asks():
    preview = ChangesPreview(SCHEMA)
    preview.take(batch(("a", 1, 1)), 0)
    assert preview._histories._known == {}
    preview._histories._read_kept = SimpleNamespace  # nobody asks for no key
    assert preview.state().histories([]) == ()
