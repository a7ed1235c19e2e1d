"""Which plans forget keys that are idle."""

from datetime import timedelta

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import DEFAULT_TTL
from arroyo_nb.plan.planner import plan_script

FILE = """CREATE TABLE {} (id BIGINT, v INT) WITH (connector = 'single_file',
    path = '/rows.json', type = 'source', format = 'json');"""
TABLES = (
    "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
    "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);"
    "CREATE TABLE some WITH (connector = 'impulse', event_rate = 1, message_count = 9);"
    "CREATE TABLE topic (id BIGINT) WITH (connector = 'kafka', type = 'source', "
    "topic = 't', bootstrap_servers = 'localhost:9092', format = 'json');"
    + FILE.format("a")
    + FILE.format("b")
)
SET = "SET updating_ttl = INTERVAL '{}';"
COUNTS = "SELECT counter, count(*) FROM {} GROUP BY counter;"
JOIN = "SELECT a.id FROM a {}JOIN {} ON a.id = b.{};"


def planned(query):
    return plan_script(TABLES + query, Catalog())


@pytest.mark.parametrize(
    ("query", "forgets"),
    [
        ("SELECT origin, count(*) FROM flights GROUP BY origin;", False),
        (JOIN.format("", "b", "id"), False),
        (JOIN.format("LEFT ", "b", "id"), False),
        (COUNTS.format("some"), False),
        (COUNTS.format("ticks"), True),
        (COUNTS.format("some") + COUNTS.format("ticks"), True),
        (JOIN.format("", "ticks AS b", "counter"), True),
        ("SELECT id, count(*) FROM topic GROUP BY id;", True),
        (SET.format("1 hour") + COUNTS.format("some"), True),
        (SET.format("24 hours") + COUNTS.format("some"), True),
    ],
)
def test_where_a_time_is_chosen_or_a_source_never_ends(query, forgets):
    plan = planned(query)
    assert plan.forgets_idle_keys == forgets
    notes = plan.explain().partition("\nNotes\n")[2]
    assert ("no key is forgotten" in notes) == (not forgets)
    assert ("idle for" in notes) == forgets


def test_what_keeps_no_key_forgets_none():
    assert not planned("SELECT counter FROM ticks;").forgets_idle_keys
    assert not planned(SET.format("1 hour") + "SELECT id FROM a;").forgets_idle_keys


def test_a_time_that_is_given_to_the_run_is_chosen():
    plan = planned(COUNTS.format("some"))
    assert plan.with_updating_ttl(timedelta(hours=1)).forgets_idle_keys
    assert plan.with_updating_ttl(DEFAULT_TTL).forgets_idle_keys


@pytest.mark.parametrize(
    ("query", "is_spark_s_own"),
    [
        (JOIN.format("", "b", "id"), True),
        (JOIN.format("LEFT ", "b", "id"), False),
        (SET.format("1 hour") + JOIN.format("", "b", "id"), False),
        (JOIN.format("", "ticks AS b", "counter"), False),
        (
            "SELECT a.id FROM a JOIN (SELECT id, count(*) AS n FROM b GROUP BY id) "
            "AS q ON a.id = q.id;",
            False,
        ),
    ],
)
def test_explain_says_which_join_it_is(query, is_spark_s_own):
    (line,) = (
        line
        for line in planned(query).explain().partition("\nSpark\n")[2].splitlines()
        if line.strip().startswith("UpdatingJoin")
    )
    assert ("UpdatingJoin: join, append mode" in line) == is_spark_s_own
