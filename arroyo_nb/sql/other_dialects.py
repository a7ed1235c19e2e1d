"""What is written otherwise in Flink, ksqlDB, Spark, Materialize and RisingWave.

A row is what an author coming from there types, and what to type here. It is asked for
a statement that has failed already: it explains an error and never makes one.
"""

from __future__ import annotations

import re

from arroyo_nb.errors import ArroyoError

_TUMBLE = "tumble(INTERVAL '1 minute') AS window ... GROUP BY window"
_HOP = "hop(INTERVAL '10 seconds', INTERVAL '30 seconds') AS window ... GROUP BY window"
_SESSION = "session(INTERVAL '1 minute') AS window ... GROUP BY window"
_RESULTS = "a query sends its results as they come: leave EMIT out"
_CLAUSE = "a window is a call in the select list, grouped by its name: write "

# The first row that fits explains the statement: the more special one comes first.
# A {0} in a hint is what the first group of the pattern has found.
_ROWS = (
    (r"\bWINDOW\s+TUMBLING\b", f"{_CLAUSE}SELECT {_TUMBLE}, and leave EMIT out"),
    (
        r"\bWINDOW\s+HOPPING\b",
        f"{_CLAUSE}SELECT {_HOP} (the advance first, then the size)",
    ),
    (r"\bWINDOW\s+SESSION\b", f"{_CLAUSE}SELECT {_SESSION}"),
    (
        r"\b(?:FROM|TABLE)\s*\(?\s*(?:TABLE\s*\(\s*)?TUMBLE\s*\(",
        f"{_CLAUSE}SELECT {_TUMBLE}; the event time is the table's WATERMARK column",
    ),
    (
        r"\b(?:FROM|TABLE)\s*\(?\s*(?:TABLE\s*\(\s*)?HOP\s*\(",
        f"{_CLAUSE}SELECT {_HOP} (the slide first, then the width); the event time is "
        "the table's WATERMARK column",
    ),
    (
        r"\b(?:FROM|TABLE)\s*\(?\s*(?:TABLE\s*\(\s*)?SESSION\s*\(",
        f"{_CLAUSE}SELECT {_SESSION}; the event time is the table's WATERMARK column",
    ),
    (
        r"\bCUMULATE\s*\(",
        "there is no cumulating window: write tumble(INTERVAL '1 hour') for final "
        "results, or GROUP BY without a window for results that are updated",
    ),
    (
        r"\bCREATE\s+(?:OR\s+REPLACE\s+)?STREAM\s+\S+\s+AS\b",
        "write CREATE VIEW name AS SELECT ..., or INSERT INTO a table to write a topic",
    ),
    (
        r"\bCREATE\s+(?:OR\s+REPLACE\s+)?STREAM\b",
        "write CREATE TABLE name (...) WITH (connector = '...', type = 'source', "
        "format = 'json', ...)",
    ),
    (
        r"\bCREATE\s+(?:OR\s+REPLACE\s+)?MATERIALIZED\s+VIEW\b",
        "write CREATE VIEW name AS SELECT ...; what reads it is kept up to date",
    ),
    (
        r"\bCREATE\s+SOURCE\b",
        "write CREATE TABLE name (...) WITH (connector = '...', type = 'source', "
        "format = 'json', ...)",
    ),
    (
        r"\bCREATE\s+SINK\b",
        "write CREATE TABLE name (...) WITH (connector = '...', type = 'sink', "
        "format = 'json', ...), and INSERT INTO name SELECT ...",
    ),
    (
        r"\bCREATE\s+CONNECTION\b",
        "give the address and the credentials in the WITH (...) of each CREATE TABLE",
    ),
    (r"\bEMIT\s+CHANGES\b", _RESULTS),
    (r"\bEMIT\s+FINAL\b", f"{_RESULTS}; results of a window are final"),
    (
        r"\bEMIT\s+ON\s+WINDOW\s+CLOSE\b",
        f"{_RESULTS}; a window sends its results when it closes",
    ),
    (
        r"\bGRACE\s+PERIOD\b",
        "lateness is said once, at the table: write WATERMARK FOR at AS at - INTERVAL "
        "'10 seconds' in its CREATE TABLE",
    ),
    (
        r"\bWITHIN\s+(?:\(|\d)",
        "a JOIN has no WITHIN: write JOIN ... ON a.x = b.x AND a.at BETWEEN b.at - "
        "INTERVAL '1 hour' AND b.at + INTERVAL '1 hour'",
    ),
    (
        r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\b",
        "remove it: declare the looked-up table with CREATE TEMPORARY TABLE, and "
        "write JOIN name ON stream.x = name.key",
    ),
    (
        r"\bAS\s+OF\b",
        "a query reads what comes from now on, or from where its source starts: leave "
        "AS OF out",
    ),
    (
        r"\bMATCH_RECOGNIZE\s*\(",
        "there is no pattern matching: number the rows with row_number() OVER "
        "(PARTITION BY ... ORDER BY ...), or aggregate over session(...)",
    ),
    (
        r"\bSELECT\s+(?:DISTINCT\s+)?TOP\s*\(?\s*\d",
        "there is no TOP: select row_number() OVER (PARTITION BY ... ORDER BY ...) AS "
        "n in a subquery, and WHERE n <= 5 outside",
    ),
    (
        r"^\s*PRINT\s+'([\w.-]+)",
        "write %arroyo peek {0}, which looks at the newest records of the topic",
    ),
    (
        r"^\s*(?:TERMINATE|STOP|KILL|CANCEL|PAUSE)\s+(?:QUERY\s+|JOB\s+)?'?(\w+)",
        "write %arroyo stop {0}; %arroyo ps lists what runs",
    ),
    (
        r"^\s*(?:SUBSCRIBE|TAIL|PRINT|FETCH)\b",
        "write SELECT * FROM name: a query shows its rows as they come",
    ),
    (
        r"^\s*LIST\b",
        "write SHOW TABLES; %arroyo topics lists the topics of a broker",
    ),
    (
        r"^\s*DECLARE\b",
        "a variable is one of the notebook: assign n = 5 in a cell before, and write "
        ":n in the query",
    ),
    (r"^\s*INSERT\s+OVERWRITE\b", "write INSERT INTO name SELECT ..."),
    (
        r"^\s*(?:USE\b|CREATE\s+(?:DATABASE|SCHEMA|CATALOG)\b)",
        "remove it: a table has a name alone, without a database or a catalog",
    ),
    (
        r"^\s*ADD\s+(?:JAR|FILE)\b",
        "remove it: connectors bring what they need",
    ),
    (
        r"^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\b",
        "remove it: state is found by its keys",
    ),
    (
        r"^\s*ALTER\b",
        "write the CREATE TABLE or CREATE VIEW again: it replaces the one before",
    ),
    (
        r"^\s*(?:DELETE|UPDATE|MERGE|TRUNCATE)\b",
        "rows of a stream are not changed: leave some out with WHERE in a query, or "
        "read changes with format = 'debezium_json'",
    ),
    (
        r"^\s*EXPLAIN\s+(?!SELECT\b|INSERT\b|WITH\b|\()",
        "write EXPLAIN SELECT ...",
    ),
    (
        r"^\s*CREATE\s+(?:TEMPORARY\s+)?TABLE\s+\S+\s+LIKE\b",
        "write its columns again",
    ),
    (r"\bTABLESAMPLE\b", "filter with WHERE random() < 0.1"),
    (
        r"\bNOT\s+(?:EXISTS|IN)\s*\(\s*SELECT\b",
        "write LEFT JOIN other AS o ON t.k = o.k WHERE o.k IS NULL",
    ),
    (
        r"\b(?:EXISTS|IN)\s*\(\s*SELECT\b",
        "write JOIN (SELECT DISTINCT k FROM other) AS o ON t.k = o.k",
    ),
    (
        r"^\s*INSERT\b[^;]*\bRETURNING\b",
        "remove RETURNING: an INSERT gives no rows",
    ),
    (r"\*\s*(?:EXCEPT|EXCLUDE|REPLACE|RENAME)\s*\(", "name the columns"),
    (r"\bGROUP\s+BY\s+ALL\b", "name the columns"),
    (
        r"\bSTATEMENT\s+SET\b",
        "remove it: the INSERTs of one cell are started together",
    ),
    (
        r"^\s*(?:READ|REFRESH|CACHE)\b",
        "write SELECT * FROM name",
    ),
    (
        r"\bMAP\s*<",
        "there is no MAP: declare STRUCT<key TEXT, ...> with the keys that are read, "
        "or JSON for the text of the whole",
    ),
    (
        r"\bROW\s*<",
        "a struct is written STRUCT<name TYPE, ...>",
    ),
    (
        r"\bTIMESTAMP_LTZ\b|\bTIMESTAMPTZ\b|\bTIME\s+ZONE\b",
        "write TIMESTAMP: it is in UTC",
    ),
    (
        r"\bUSING\s+\w+\s*(?:OPTIONS|LOCATION|$|;)",
        "write WITH (connector = '...', type = 'source', format = '...', ...)",
    ),
    (r"\bOPTIONS\s*\(", "options stand in WITH (name = 'value', ...)"),
    (
        r"\)\s*FORMAT\s+\w+\s+ENCODE\b",
        "the format is an option: write WITH (..., format = 'json')",
    ),
    (
        r"\bPARTITIONED\s+BY\b",
        "remove it, or set the option that the connector has for it in WITH (...)",
    ),
    (r"&&", "write AND"),
    (r"\bOFFSET\s+\d", "remove OFFSET: LIMIT n alone ends a cell after n rows"),
    (
        r"\bINSERT\s+INTO\s+(\w+)[^;]*\bVALUES\b",
        "rows are sent from Python: session.emit('{0}', rows)",
    ),
    (
        r"[<>=]\s*\(\s*SELECT\b",
        "join the subquery by a key: FROM t JOIN (SELECT k, avg(x) AS mean FROM t "
        "GROUP BY k) AS m ON t.k = m.k WHERE t.x > m.mean",
    ),
    (r"\bRLIKE\b|\bREGEXP\b", "write regexp_like(text, 'pattern')"),
    (
        r"\b(?:(?:FROM|JOIN|LATERAL|FROM\s+\w+\s*,)\s+UNNEST|(?:POS)?EXPLODE(?:_OUTER)?|"
        r"INLINE)\s*\(\s*([\w.]+)",
        "write unnest({0}) in the select list",
    ),
    (
        r"\b(TUMBLE|SESSION)\s*\(\s*(\d+)\s+((?:SECOND|MINUTE|HOUR|DAY)S?)\s*\)",
        "write {0}(INTERVAL '{1} {2}')",
    ),
    (
        r"\bHOP\s*\(\s*(\d+\s+\w+)\s*,\s*(\d+\s+\w+)\s*\)",
        "write hop(INTERVAL '{0}', INTERVAL '{1}')",
    ),
    (
        r"(?<!INTERVAL )(?<![\w.'])(\d+\s+(?:SECOND|MINUTE|HOUR|DAY)S?)\b",
        "write INTERVAL '{0}'",
    ),
    (
        r"\bLATERAL\b",
        "write the query as a JOIN, or with OVER in a subquery",
    ),
)

# What is SET elsewhere, by its name.
_SETTINGS = (
    (r"ttl|retention", "write SET updating_ttl = INTERVAL '1 day'"),
    (r"time.?zone", "remove it: times are in UTC"),
    (
        r"offset",
        "where a topic is read from stands in its CREATE TABLE: WITH "
        "('source.offset' = 'earliest', ...)",
    ),
    (
        r"mini.?batch|trigger|flush",
        "how often results come is a flag of the cell: %%arroyo --trigger 1s",
    ),
    (
        r"parallelism|partitions|threads",
        "remove it: a cell runs a task for each core; a job.yaml has options: "
        "parallelism",
    ),
)
_OTHER_SETTING = (
    "the only setting is updating_ttl, as in SET updating_ttl = INTERVAL '1 day'; "
    "options of a run are flags of the cell, which %%arroyo --help lists"
)
_SET = re.compile(r"\s*SET\s+['\"]?(?P<name>[\w.-]+\.[\w.-]+)", re.IGNORECASE)

_COMPILED = tuple((re.compile(row, re.IGNORECASE), hint) for row, hint in _ROWS)
_QUOTED = re.compile(r"'[^']*'")


def hint_of(statement: str) -> str | None:
    """What to write in place of what another dialect has; None where nothing is known.

    >>> hint_of("SELECT a FROM t EMIT CHANGES")
    'a query sends its results as they come: leave EMIT out'
    """
    if (setting := _SET.match(statement)) is not None:
        return setting_hint(setting["name"])
    plain = _QUOTED.sub(lambda found: "'" + "0" * (len(found[0]) - 2) + "'", statement)
    for row, hint in _COMPILED:
        if (found := row.search(plain)) is not None:
            places = range(1, row.groups + 1)
            return hint.format(*(statement[slice(*found.span(n))] for n in places))
    return None


def setting_hint(name: str) -> str:
    """What to write for what is SET in another system.

    >>> setting_hint("table.exec.state.ttl")
    "write SET updating_ttl = INTERVAL '1 day'"
    """
    rows = (hint for row, hint in _SETTINGS if re.search(row, name, re.IGNORECASE))
    return next(rows, _OTHER_SETTING)


def explain_error(problem: ArroyoError, statement: str) -> None:
    """Give an error that says nothing of what to write a hint about another dialect."""
    if problem.hint is None:
        problem.hint = hint_of(statement)
