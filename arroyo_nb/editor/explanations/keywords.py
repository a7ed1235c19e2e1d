"""Keywords, the words beside them read as one phrase: ``WATERMARK FOR``."""

from __future__ import annotations

from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord

_PHRASES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "CREATE TABLE": (
        ("Declares a source, a sink or both; without WITH a memory table.",),
        "CREATE TABLE orders (id BIGINT, at TIMESTAMP) WITH (connector = '...')",
    ),
    "CREATE TEMPORARY TABLE": (
        ("Declares a lookup table: its rows are found by key, in a JOIN.",),
        "CREATE TEMPORARY TABLE users (id TEXT PRIMARY KEY, name TEXT) WITH (...)",
    ),
    "CREATE VIEW": (
        ("Names a query; it is computed where it is read.",),
        "CREATE VIEW late AS SELECT * FROM orders WHERE delay > 60",
    ),
    "WATERMARK FOR": (
        (
            "The column is the event time, and the expression the watermark.",
            "Rows whose event time is before the watermark are late. Without AS there "
            "is no delay; without WATERMARK FOR it is one second.",
        ),
        "WATERMARK FOR at AS at - INTERVAL '5 seconds'",
    ),
    "GENERATED ALWAYS AS": (
        ("A column that is computed from the columns of the record.",),
        "at TIMESTAMP GENERATED ALWAYS AS (to_timestamp_millis(ms)) STORED",
    ),
    "STORED": (("Ends a generated column; it has no effect.",), None),
    "METADATA FROM": (
        ("What the connector knows of a record beside its value.",),
        "topic TEXT METADATA FROM 'topic'",
    ),
    "PRIMARY KEY": (
        ("Rows of a source of changes, or of a lookup table, are told apart by it.",),
        "id BIGINT PRIMARY KEY",
    ),
    "NOT NULL": (
        ("A record without a value is bad data; bad_data says what happens to it.",),
        None,
    ),
    "PARTITIONED BY": (
        ("How the files of a table are laid out.",),
        "PARTITIONED BY (day(at), bucket(id, 16))",
    ),
    "INSERT INTO": (
        (
            "Writes the rows of a query to a sink, by position.",
            "In a cell without --sinks they are only shown.",
        ),
        "INSERT INTO totals SELECT city, sum(fare) FROM trips GROUP BY city",
    ),
    "SET": (
        ("SET updating_ttl: how long an updating query keeps an idle key.",),
        "SET updating_ttl = INTERVAL '1 hour'",
    ),
    "SHOW TABLES": (("The tables and views that there are.",), None),
    "DESCRIBE": (("The columns of a table.",), "DESCRIBE orders"),
    "DROP TABLE": (("Forgets a table; what reads it has it still.",), None),
    "DROP VIEW": (("Forgets a view; what reads it has it still.",), None),
    "EXPLAIN": (("Shows the plan of a query, which does not run.",), None),
    "SELECT": (("A query. Its rows are kept as the result of the run.",), None),
    "SELECT DISTINCT": (("Each different row once.",), None),
    "FROM": (("Tables, views, queries in brackets and joins.",), None),
    "WHERE": (("Keeps the rows for which the condition is true.",), None),
    "GROUP BY": (
        (
            "One result for each group: final where it names a window, else updated.",
            "An item of the select list is named by its alias or its number.",
        ),
        "GROUP BY window, city",
    ),
    "HAVING": (("Keeps the groups for which the condition is true.",), None),
    "ORDER BY": (
        ("The order in which the rows of a cell's SELECT are shown, or of a frame.",),
        None,
    ),
    "LIMIT": (("How many rows of a cell's SELECT are shown.",), None),
    "JOIN": (
        ("Rows of both sides for which ON is true.",),
        "FROM orders AS o JOIN users AS u ON o.user_id = u.id",
    ),
    "LEFT JOIN": (("Rows of the left side, with NULLs where none matches.",), None),
    "RIGHT JOIN": (("Rows of the right side, with NULLs where none matches.",), None),
    "FULL JOIN": (("Rows of both sides, with NULLs where none matches.",), None),
    "CROSS JOIN": (
        ("Each row of one side with each of the other, in a window.",),
        None,
    ),
    "ON": (("The condition by which rows of a join match.",), None),
    "UNION": (("The rows of both queries, each different one once.",), None),
    "UNION ALL": (("The rows of both queries.",), None),
    "OVER": (
        ("The rows that a function sees: PARTITION BY, ORDER BY, and a frame.",),
        "row_number() OVER (PARTITION BY window ORDER BY n DESC) AS rank",
    ),
    "PARTITION BY": (
        ("The rows that a function of OVER sees together; a window among them.",),
        "PARTITION BY window, city",
    ),
    "ROWS": (
        ("A frame by the number of rows around each.",),
        "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    ),
    "RANGE": (
        ("A frame by the values of ORDER BY around that of each row.",),
        "RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW",
    ),
    "FILTER": (
        ("An aggregate of those rows alone for which a condition is true.",),
        "count(*) FILTER (WHERE done)",
    ),
    "WITHIN GROUP": (("The order of the values of an aggregate.",), None),
    "CAST": (
        ("A value as another type; TRY_CAST gives NULL where there is none.",),
        "CAST(fare AS BIGINT)",
    ),
    "TRY_CAST": (
        ("A value as another type, and NULL where there is none.",),
        "TRY_CAST(code AS INT)",
    ),
    "EXTRACT": (("A part of a time.",), "EXTRACT(HOUR FROM at)"),
    "CASE": (
        ("The first value whose condition is true.",),
        "CASE WHEN fare > 50 THEN 'high' ELSE 'low' END",
    ),
    "WITH": (("Names queries for the one that follows.",), "WITH a AS (SELECT ...)"),
    "WINDOW": (("Names a window of OVER.",), "WINDOW w AS (PARTITION BY city)"),
    "BETWEEN": (("From a value to another, both among them.",), None),
    "LIKE": (("Matches a pattern: % is any text, _ any character.",), None),
    "ILIKE": (("Matches a pattern in any case.",), None),
}
KEYWORD_WORDS = frozenset(word for phrase in _PHRASES for word in phrase.split())
_LONGEST = max(len(phrase.split()) for phrase in _PHRASES)


def explain_keyword(word: PointedWord) -> Explanation | None:
    """The longest phrase of keywords that a word is in."""
    if not word.token.word.isalpha() and "_" not in word.token.word:
        return None
    for length in range(_LONGEST, 0, -1):
        for first in range(1 - length, 1):
            words = [word.near(first + step).word for step in range(length)]
            if made := phrase_named(" ".join(words)):
                return made
    return None


def phrase_named(phrase: str) -> Explanation | None:
    """A keyword, or several, in upper case with one blank between."""
    if phrase not in _PHRASES:
        return None
    lines, example = _PHRASES[phrase]
    return Explanation(phrase, lines, example)
