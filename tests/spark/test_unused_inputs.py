"""Inputs that cannot change a result: Spark would leave them out of its plan, and wait
for ever for their watermark."""

import pytest

TABLES = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
CREATE VIEW days AS SELECT tumble(INTERVAL '1 day') AS day, count(*) AS n
FROM flights GROUP BY 1;
CREATE VIEW newark AS SELECT tumble(INTERVAL '1 day') AS day, count(*) AS n
FROM flights WHERE origin = 'EWR' GROUP BY 1;
"""
DAYS = "SELECT day, n FROM days"
QUERIES = {
    "a join of whose other side nothing is used": "SELECT a.day, a.n FROM days a "
    "LEFT JOIN newark b ON a.day = b.day",
    "a branch that has no row": f"{DAYS} UNION ALL SELECT day, n FROM newark "
    "WHERE n IS NULL AND n > 0",
    "a branch below WHERE FALSE": f"{DAYS} UNION ALL SELECT day, n FROM newark "
    "WHERE FALSE",
    "a join that matches nothing": f"{DAYS} UNION ALL SELECT a.day, a.n FROM days a "
    "JOIN newark b ON a.day = b.day AND 1 = 0",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_windows_close_as_if_it_were_used(session, query):
    """The watermark moves: the first day comes long before the end of the stream."""
    run = session.run(TABLES + query, wait=True)
    found = [day["start"].day for day in run.table()["day"].to_pylist()]
    assert sorted(found) == [*range(4, 12)]
    (output,) = run.outputs
    assert output.observation.history.points[-5].watermark.year == 2013
