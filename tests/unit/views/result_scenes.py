"""Snapshots with what the result views draw: histories, outputs, plans, a selection."""

from __future__ import annotations

from dataclasses import replace

from scenes import TUMBLE, UPDATING, at

from arroyo_nb.run.observe.snapshot import (
    Change,
    KeyHistory,
    PlanStep,
    RunState,
    Selection,
    Snapshot,
)

DIFFERENCE = (
    "the watermark follows the newest row so far; Arroyo's follows the oldest row of "
    "each batch"
)
BATCHED = "changes are sent once a micro-batch: what comes and goes within is not seen"

HISTORIES = replace(
    UPDATING,
    row_keys=(11, -12, 13),
    changes=(
        Change("u", 58, ("UA", 1011, 9.5), ("UA", 1018, 9.5), 11),
        Change("u", 57, ("B6", 990, 3.25), ("B6", 991, None), -12),
        Change("c", 57, None, ("<b>", 1, 0.25), 13),
        Change("d", 55, ("OO", 1, 12.0), None, 14),
    ),
    histories=(
        KeyHistory(
            *(11, 8, 58, "n"),
            numbers=(12.0, 140.0, 260.0, 391.0, 560.0, 790.0, 1011.0, 1018.0),
            before=("UA", 1011, 9.5),
            is_created=True,
        ),
        KeyHistory(
            *(-12, 4, 57, "n"),
            numbers=(700.0, None, 650.0, 990.0, 991.0),
            before=("B6", 990, 3.25),
        ),
        KeyHistory(13, 1, 57, "n", numbers=(1.0,), is_created=True),
        KeyHistory(14, 2, 55, "n", (1.0, None), ("OO", 1, 12.0), is_created=True),
    ),
)


def groups(number: int, columns: int = 3) -> Snapshot:
    """An updating result of so many groups and columns, the newest twenty of them."""
    names = ("carrier", "flights", *(f"measure_{i}" for i in range(columns - 2)))
    numeric = (False, *(True for _ in names[1:]))

    def row(key: int, n: int) -> tuple[object, ...]:
        text = f"carrier {key}" if key % 7 else "a long name of a carrier " * 6
        rest = (None if (key + i) % 5 == 0 else key * 1.5 + i for i in range(columns))
        return (text, n, *rest)[: len(names)]

    shown = range(1, min(number, 20) + 1)
    made = []
    for key in shown:
        numbers = tuple(float((key * i) % 17 + i) for i in range(1, 3 * key % 60 + 2))
        before = row(key, int(numbers[-2])) if len(numbers) > 1 else None
        made.append(
            KeyHistory(
                key, len(numbers), 60 - key % 3, "flights", numbers, before, True
            )
        )
    rows = tuple(row(h.key, int(h.numbers[-1])) for h in made)
    changes = tuple(
        Change("u" if h.before else "c", h.batch_id, h.before, r, h.key)
        for h, r in zip(made, rows, strict=True)
    )
    return Snapshot(
        "flights_by_carrier",
        RunState.RUNNING,
        rows_in=60_990,
        rows_out=number * 9,
        rows_kept=number * 9,
        output_rows=number * 9,
        batch_id=60,
        batch_ms=120.0,
        updating=True,
        result_rows=number,
        columns=names,
        numeric=numeric,
        rows=rows,
        row_keys=tuple(h.key for h in made),
        histories=tuple(made),
        changes=changes,
        can_pause=True,
    )


OUTPUTS = replace(
    TUMBLE,
    outputs=("late_flights", "result 1", "result 2"),
    more_outputs=2,
    output_rows=9,
    handle="departures",
)

CHAIN = (
    PlanStep(
        *(1, "FROM flights (sample)", "source"),
        line=3,
        sql="FROM flights",
        table="flights",
        rows=1815,
        rows_per_s=12_430.0,
    ),
    PlanStep(2, "WATERMARK newest event - 1 h", "watermark", (1,), line=3),
    PlanStep(3, "WHERE dep_delay > 15", "filter", (2,), line=4, sql="WHERE dep_delay"),
    PlanStep(
        *(4, "GROUP BY tumble(3600s) AS window, origin; count(*) AS flights, avg(dep)"),
        *("aggregate", (3,), "differs", DIFFERENCE, 5, "GROUP BY 1, 2"),
        state_rows=54,
        state_bytes=18_232,
    ),
    PlanStep(5, "result", "sink", (4,), line=2, rows=9),
)

JOINED = (
    PlanStep(1, "FROM flights (sample)", "source", rows=1815, table="flights"),
    PlanStep(2, "WATERMARK newest event - 1 s", "watermark", (1,)),
    PlanStep(
        *(3, "GROUP BY carrier; count(*)", "aggregate", (2,), "micro-batch", BATCHED)
    ),
    PlanStep(4, "WHERE origin = 'JFK'", "filter", (2,)),
    PlanStep(
        *(5, "GROUP BY carrier; count(*)", "aggregate", (4,), "micro-batch", BATCHED)
    ),
    PlanStep(6, "FROM carriers (single_file)", "source", table="carriers", rows=16),
    PlanStep(
        *(7, "INNER JOIN ON carrier = b.carrier", "join", (3, 5)),
        *("micro-batch", BATCHED),
    ),
    PlanStep(8, "LEFT JOIN ON carrier = code", "join", (7, 6), "micro-batch", BATCHED),
    PlanStep(9, "INSERT INTO delays", "sink", (8,), rows=204),
)


def long_plan(number: int) -> tuple[PlanStep, ...]:
    """A plan of so many steps: a source that many branches read, united two by two."""
    made = [
        PlanStep(1, "FROM a_table_with_a_long_name_of_many_words (kafka)", "source")
    ]
    branches = []
    while len(made) < number // 2:
        step = PlanStep(len(made) + 1, f"WHERE part = {len(made)}", "filter", (1,))
        made.append(step)
        branches.append(step.number)
    while len(made) < number - 1 and len(branches) > 1:
        inputs, branches = tuple(branches[:2]), branches[2:]
        made.append(PlanStep(len(made) + 1, "UNION ALL", "union", inputs))
        branches.append(len(made))
    made.append(PlanStep(len(made) + 1, "result", "sink", tuple(branches)))
    return tuple(made)


PLANNED = replace(TUMBLE, plan=CHAIN)
SELF_JOIN = (
    PlanStep(1, "FROM flights (sample)", "source"),
    PlanStep(2, "GROUP BY carrier; count(*)", "aggregate", (1,)),
    PlanStep(3, "LEFT JOIN ON carrier = b.carrier", "join", (2, 2)),
    PlanStep(4, "result", "sink", (3,)),
)

WINDOW = Selection(start=at(10), end=at(11))
