"""What a Python worker does with a batch, without Spark."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import INT, TEXT, Field, Schema
from arroyo_nb.spark.lookup_cache import ENTRY_BYTES, LookupCache
from arroyo_nb.spark.lookups import KEY, UNREAD, BatchLookup
from arroyo_nb.tape import BadRow


@dataclass
class Store:
    """A store that remembers what it was asked."""

    records: dict[str, bytes]
    asked: list[list[str]] = field(default_factory=list)

    def ask(self, keys):
        self.asked.append(list(keys))
        return [self.records.get(key) for key in keys]


COLUMNS = Schema((Field("name", TEXT), Field("age", INT)))
RECORDS = {
    "ann": b'{"name": "Ann", "age": 30}',
    "bob": b'{"name":\n  "Bob"}',
    "nil": b'{"other": 1}',
    "bad": b'{"name": "Bad", "age": "old"}',
    "cut": b'{"name"',
    "": b'{"name": "nobody"}',
}


def lookup(store, *, drops=False, bad_data="fail"):
    return BatchLookup(
        "test",
        store,
        "people",
        "json",
        COLUMNS,
        pa.schema({"name": pa.string(), "age": pa.int64()}),
        {"bad_data": bad_data},
        2**20,
        None,
        drops,
        (("k", None), ("n", "name"), ("a", "age")),
    )


def rows(*keys):
    return pa.table(
        {"id": pa.array(range(len(keys))), KEY: pa.array(keys, pa.string())}
    )


def found(made):
    return [tuple(row.values()) for row in made.drop(UNREAD).to_pylist()]


def test_each_row_finds_the_record_of_its_key():
    store = Store(RECORDS)
    made = lookup(store).looked_up(
        rows("bob", None, "ann", "eve", "bob", "nil", ""), LookupCache(0, None)
    )
    assert found(made) == [
        (0, "bob", "Bob", None),
        (1, None, None, None),
        (2, "ann", "Ann", 30),
        (3, None, None, None),
        (4, "bob", "Bob", None),
        (5, "nil", None, None),
        (6, "", "nobody", None),
    ]
    assert made.schema.field("a").type == pa.int64(), "what Spark holds"
    assert store.asked == [["bob", "ann", "eve", "nil", ""]], "once, for all of a batch"


def test_an_inner_join_drops_what_finds_nothing_or_no_value():
    made = lookup(Store(RECORDS), drops=True).looked_up(
        rows("eve", "ann", None, "nil", "bob"), LookupCache(0, None)
    )
    assert found(made) == [(1, "ann", "Ann", 30), (4, "bob", "Bob", None)]
    nothing = lookup(Store({}), drops=True).looked_up(rows("eve"), LookupCache(0, None))
    assert nothing.num_rows == 0


@pytest.mark.parametrize(
    ("key", "why"),
    [("bad", "'age' is INT"), ("cut", "invalid JSON")],
)
def test_a_bad_record_is_told_by_its_key_or_dropped(key, why):
    with pytest.raises(RunProblem) as caught:
        lookup(Store(RECORDS)).looked_up(rows("ann", key), LookupCache(0, None))
    assert caught.value.message.startswith(f"people['{key}']:1: ")
    assert why in caught.value.message
    dropping = lookup(Store(RECORDS), bad_data="drop")
    made = dropping.looked_up(rows(key, "ann", key, "bob"), LookupCache(0, None))
    told = [t and str(BadRow.from_json(t)) for t in made[UNREAD].to_pylist()]
    assert told[0].startswith(f"people['{key}']:1: ")
    assert why in told[0]
    assert told == [told[0], None, told[0], None]
    assert found(made) == [
        (0, None, None, None),
        (1, "ann", "Ann", 30),
        (2, None, None, None),
        (3, "bob", "Bob", None),
    ]
    dropping = lookup(Store(RECORDS), drops=True, bad_data="drop")
    made = dropping.looked_up(rows("eve", key, "ann"), LookupCache(0, None))
    assert made["id"].to_pylist() == [1, 2], "what is bad is still to be counted"


def test_an_empty_record_is_none():
    store = Store({"a": b"", "b": b" \n", "ann": RECORDS["ann"]})
    made = lookup(store, drops=True).looked_up(
        rows("a", "ann", "b"), LookupCache(0, None)
    )
    assert found(made) == [(1, "ann", "Ann", 30)]


def test_batches_of_one_worker_share_what_was_found_and_runs_do_not():
    store = Store(dict(RECORDS))
    one = replace(lookup(store), name="one")
    batches = [rows("ann", "eve").to_batches()[0], rows("eve", "bob").to_batches()[0]]
    assert [b.num_rows for b in one(iter(batches))] == [2, 2]
    assert store.asked == [["ann", "eve"], ["bob"]]
    list(one(iter(batches[:1])))
    assert len(store.asked) == 2
    list(replace(one, name="two")(iter(batches[:1])))
    assert store.asked[2:] == [["ann", "eve"]]


def test_it_can_be_sent_to_a_worker():
    sent = pickle.loads(pickle.dumps(lookup(Store(RECORDS))))
    made = sent.looked_up(rows("ann"), LookupCache(0, None))
    assert found(made) == [(0, "ann", "Ann", 30)]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_what_was_found_holds_for_its_time_also_that_it_is_not_there():
    store, clock = Store({"a": b"1"}), Clock()
    cache = LookupCache(2**20, timedelta(seconds=10).total_seconds(), clock)
    assert cache.find(["a", "b"], store.ask) == [b"1", None]
    store.records = {"a": b"2", "b": b"3"}
    clock.now = 9.9
    assert cache.find(["b", "a"], store.ask) == [None, b"1"]
    clock.now = 10.0
    assert cache.find(["b", "a"], store.ask) == [b"3", b"2"]
    assert store.asked == [["a", "b"], ["b", "a"]]


def test_what_was_not_used_for_longest_is_forgotten_first():
    store = Store(dict.fromkeys("abc", b"1234"))
    cache = LookupCache(2 * (ENTRY_BYTES + 5), None)
    for keys in ("a", "b", "a", "c", "a", "b"):
        assert cache.find([keys], store.ask) == [b"1234"]
    assert store.asked == [["a"], ["b"], ["c"], ["b"]]


@given(
    st.lists(
        st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)
    ),
    st.sampled_from([0, 200, 500, 10_000]),
)
def test_a_cache_never_lies_and_never_grows(questions, max_bytes):
    store = Store({"a": b"x", "b": b"y" * 100, "c": b"z" * 400, "d": b""})
    cache = LookupCache(max_bytes, None)
    for keys in questions:
        assert cache.find(keys, store.ask) == [store.records.get(k) for k in keys]
        entries = cache._entries.items()
        kept = sum(
            ENTRY_BYTES + len(k) + len(found or b"") for k, (found, _) in entries
        )
        assert kept == cache._bytes <= max_bytes
    if not max_bytes:
        assert len(store.asked) == len(questions)
