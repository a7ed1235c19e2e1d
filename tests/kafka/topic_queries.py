"""Queries of a topic that write one exactly once: one of each kind, and what each must
have written."""

from __future__ import annotations

import json
import time
from collections import Counter

COLUMNS = """k TEXT, n INT, at TIMESTAMP(3) NOT NULL, x DOUBLE,
    WATERMARK FOR at AS at - INTERVAL '1 minute'"""
QUERIES = {
    "stateless": "SELECT k, n FROM t WHERE n % 3 <> 1",
    "windowed": """SELECT tumble(INTERVAL '1 hour') AS w, k, count(*) AS n, avg(x) AS x
        FROM t GROUP BY w, k""",
    "updating": "SELECT k, count(*) AS n, sum(n) AS total FROM t GROUP BY k",
}
MINUTE, HOUR, FIRST = 60_000, 3_600_000, 1_700_000_000_000


def told(name, made):
    """The rows that a topic tells; each change must find the row that it speaks of."""
    found = Counter()
    for record in made.records():
        row = json.loads(record.value())
        if name == "stateless":
            found[row["k"], row["n"]] += 1
        elif name == "windowed":
            found[row["w"]["start"], row["k"], row["n"], round(row["x"], 6)] += 1
        else:
            before, after = (
                row[image] and tuple(row[image].values())
                for image in ("before", "after")
            )
            if before:
                assert found.pop(before, 0) == 1, row
            if after:
                found[after] += 1
    return found


def answer(name, rows):
    """The same of all rows at once, of which the last closes the others' windows."""
    if name == "stateless":
        return Counter((row["k"], row["n"]) for row in rows if row["n"] % 3 != 1)
    groups = {}
    for row in rows[:-1] if name == "windowed" else rows:
        start = row["at"] // HOUR if name == "windowed" else 0
        groups.setdefault((start, row["k"]), []).append(row)
    if name == "updating":
        return Counter(
            (k, len(g), sum(r["n"] for r in g)) for (_, k), g in groups.items()
        )
    return Counter(
        (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start * 3600)),
            *(k, len(g), round(sum(r["x"] for r in g) / len(g), 6)),
        )
        for (start, k), g in groups.items()
    )
