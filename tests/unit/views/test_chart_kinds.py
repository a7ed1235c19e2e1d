"""Charts of windows, arrivals, the watermark, lateness and keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from scenes import STARTING, UNWINDOWED
from time_scenes import TIMES

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.chart import KINDS, plot
from arroyo_nb.views.formatting import HOUR
from arroyo_nb.views.sections.watermark.histogram import more_than

TUMBLE = TIMES["tumble"].snapshot()

ROW = pa.struct([("carrier", pa.string()), ("n", pa.int64()), ("mean", pa.float64())])
CHANGES = pa.schema(
    [("op", pa.string()), ("batch", pa.int64()), ("before", ROW), ("after", ROW)]
)


class Captured:
    """What a run, or a saved trace of one, gives to a chart."""

    def __init__(
        self, snapshot: Snapshot = TUMBLE, changes: list[dict[str, Any]] | None = None
    ) -> None:
        self._snapshot, self._changes = snapshot, changes or []

    def table(self) -> pa.Table:
        return pa.table({"at": [bar.start for bar in self._snapshot.windows], "n": [
            bar.rows for bar in self._snapshot.windows]})  # fmt: skip

    def changelog(self) -> pa.Table:
        return pa.Table.from_pylist(self._changes, CHANGES)

    def snapshot(self, rows: int = 20) -> Snapshot:
        return self._snapshot


def count_of(carrier: str, n: int) -> dict[str, Any]:
    return {"carrier": carrier, "n": n, "mean": n / 2}


def changed(op: str, batch: int, before: Any, after: Any) -> dict[str, Any]:
    return {"op": op, "batch": batch, "before": before, "after": after}


UPDATES = [
    changed("c", 0, None, count_of("UA", 1)),
    changed("c", 0, None, count_of("AA", 1)),
    changed("u", 1, count_of("UA", 1), count_of("UA", 2)),
    changed("d", 2, count_of("AA", 1), None),
]


def records(chart: Any) -> list[dict[str, Any]]:
    """The data of a chart, of all its layers."""
    made = chart.to_dict()
    return [row for rows in made["datasets"].values() for row in rows]


def marks(chart: Any) -> Iterator[str]:
    for layer in chart.to_dict().get("layer", [chart.to_dict()]):
        yield layer["mark"]["type"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["tumble", "hop", "three sources", "end of input"])
def test_each_kind_is_bounded_and_leaves_the_end_of_time_out(
    kind: str, name: str
) -> None:
    chart = plot(Captured(TIMES[name].snapshot(), UPDATES), kind)
    assert "9998" not in str(chart.to_dict()["datasets"])  # the end of time is none
    assert len(records(chart)) <= 10_000


def test_a_picture_is_made_without_a_network() -> None:
    bundle, _ = plot(Captured(), "arrivals")._repr_mimebundle_()
    assert bundle["image/png"].startswith(b"\x89PNG")


def test_notebooks_import_charts_from_the_views() -> None:
    from arroyo_nb import views

    assert views.plot is plot
    assert callable(views.draw_offline)
    with pytest.raises(AttributeError, match="no_such_chart"):
        views.no_such_chart  # noqa: B018


def test_windows_are_bars_and_late_rows_crosses() -> None:
    chart = plot(Captured(), "windows")
    assert list(marks(chart)) == ["bar", "text"]
    shown = records(chart)
    assert [row["rows"] for row in shown] == [bar.rows for bar in TUMBLE.windows]
    assert sum(row["late"] for row in shown) == TUMBLE.late_rows
    assert {row["mark"] for row in shown} == {"", "× 1", "× 2", "× 3"}
    assert "tumble" in chart.to_dict()["title"]


def test_of_many_windows_late_rows_lie_on_top_in_red() -> None:
    first = TUMBLE.windows[0]
    bars = tuple(
        replace(first, start=first.start + n * HOUR, end=first.end + n * HOUR,
                rows=10, late_rows=n % 2) for n in range(60)
    )  # fmt: skip
    chart = plot(Captured(replace(TUMBLE, windows=bars)), "windows")
    assert list(marks(chart)) == ["bar", "bar"]
    assert {(row["late"], row["all"]) for row in records(chart)} == {(0, 10), (1, 11)}
    over = chart.to_dict()["layer"][1]
    assert (over["encoding"]["y"]["field"], over["encoding"]["y2"]["field"]) == (
        *("rows", "all"),
    )
    assert "red: late rows" in chart.to_dict()["title"]


def test_each_late_row_is_a_cross_among_the_arrivals() -> None:
    chart = plot(Captured(), "arrivals")
    rows = [row for row in records(chart) if "row" in row]
    assert sum(row["row"] == "late" for row in rows) == TUMBLE.late_rows
    assert len(rows) == sum(batch.rows for batch in TUMBLE.arrivals)
    assert list(marks(chart)) == ["circle", "line", "line", "point"]
    without = plot(Captured(replace(TUMBLE, arrivals=())), "arrivals")
    assert list(marks(without)) == ["line", "line"]


def test_each_source_has_a_line_beside_the_watermark() -> None:
    chart = plot(Captured(TIMES["three sources"].snapshot()), "watermark")
    lines = {row["line"] for row in records(chart)}
    assert lines == {"flights", "arrivals_of_the_other_airport", "weather", "watermark"}
    single = plot(Captured(), "watermark")
    assert {row["line"] for row in records(single)} == {"newest event", "watermark"}


def test_lateness_has_its_delays_as_lines() -> None:
    chart = plot(Captured(), "lateness")
    assert list(marks(chart)) == ["bar", "rule", "text", "text"]
    lateness = TUMBLE.lateness
    assert lateness is not None
    at = [row["at"] for row in records(chart) if "at" in row]
    assert at == [
        length.total_seconds()
        for length in (
            lateness.delay,
            *map(more_than, (lateness.keep_99, lateness.keep_999, lateness.keep_all)),
        )
    ]
    bars = [row for row in records(chart) if "low" in row]
    within = [row for row in bars if row["which"] == "within the delay"]
    assert max(row["high"] for row in within) == lateness.delay.total_seconds()
    assert min(row["low"] for row in bars if row not in within) >= max(
        row["low"] for row in within
    )


def test_the_axis_of_lateness_has_ticks_at_even_lengths() -> None:
    across = plot(Captured(), "lateness").to_dict()["layer"][0]["encoding"]["x"]
    scale, axis = across["scale"], across["axis"]
    begin, *ticks = axis["values"]
    assert begin == 0
    assert len(ticks) >= 3
    assert scale["constant"] <= min(ticks)
    assert max(ticks) <= scale["domain"][1]
    names = json.loads(axis["labelExpr"].removesuffix("[datum.value]"))
    assert list(names) == [f"{tick:g}" for tick in axis["values"]]
    assert {"0 s", "30 min", "1 h"} <= set(names.values())


def test_each_key_has_its_history() -> None:
    chart = plot(Captured(changes=UPDATES), "keys")
    assert [(row["key"], row["value"], row["batch"]) for row in records(chart)] == [
        *(("UA", 1, 0), ("AA", 1, 0), ("UA", 2, 1), ("AA", None, 2)),
    ]
    assert chart.to_dict()["title"] == "n of each carrier"
    named = plot(Captured(changes=UPDATES), "keys", y="mean")
    assert [row["value"] for row in records(named)] == [0.5, 0.5, 1.0, None]


def test_colours_of_keys_are_listed_as_their_lines_end() -> None:
    numbers = {"low": 1, "gone": None, "high": 9, "middle": 5}
    changes = [changed("c", 0, None, count_of(key, 3)) for key in numbers]
    for key, n in numbers.items():
        after = None if n is None else count_of(key, n)
        changes.append(changed("u" if after else "d", 1, count_of(key, 3), after))
    colour = plot(Captured(changes=changes), "keys").to_dict()["encoding"]["color"]
    assert colour["sort"] == ["high", "middle", "low", "gone"]


def test_no_two_keys_have_one_colour() -> None:
    changes = [changed("c", 0, None, count_of(f"k{n}", n)) for n in range(12)]
    colour = plot(Captured(changes=changes), "keys").to_dict()["encoding"]["color"]
    assert len(colour["sort"]) == 12
    assert colour["scale"]["scheme"] == "tableau20"


def test_of_many_keys_those_that_changed_most_are_drawn() -> None:
    changes = [changed("c", n, None, count_of(f"k{n}", n)) for n in range(40)]
    changes += [changed("u", 40, count_of("k9", 9), count_of("k9", 10))]
    chart = plot(Captured(changes=changes), "keys")
    made = chart.to_dict()
    grey, coloured = (
        {row["key"] for row in made["datasets"][layer["data"]["name"]]}
        for layer in made["layer"]
    )
    assert len(coloured) == 12
    assert len(grey) == 28
    assert "k9" in coloured
    assert made["title"] == (
        "n of each carrier: 12 of 40 keys in colour, those that changed most"
    )


@pytest.mark.parametrize(
    ("kind", "columns", "said", "hint"),
    [
        ("window", {}, "there is no chart of the kind 'window'", "windows"),
        ("lateness", {"x": "n"}, "has no x", "leave it out"),
        ("keys", {"x": "n"}, "has no x", "it takes y and color"),
        ("keys", {"y": "m"}, "the result has no column 'm'", ""),
        ("keys", {"color": "carier"}, "the result has no column 'carier'", "carrier"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(
    kind: str, columns: dict[str, str], said: str, hint: str
) -> None:
    with pytest.raises(RunProblem, match=said) as raised:
        plot(Captured(changes=UPDATES), kind, **columns)
    assert hint in str(raised.value)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rows"])
def test_a_run_that_has_nothing_of_it_says_so(kind: str) -> None:
    snapshot = STARTING if kind in ("watermark", "arrivals") else UNWINDOWED
    with pytest.raises(RunProblem, match="there is no"):
        plot(Captured(snapshot), kind)


@pytest.mark.parametrize("kind", ["windows", "arrivals", "lateness"])
def test_a_chart_is_of_the_output_that_has_windows(kind):
    class Both(Captured):
        def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
            first = replace(UNWINDOWED, outputs=("rows", "hours"))
            return (first, TUMBLE)[output]

    # What Altair calls its parts goes on counting.
    def rows(chart):
        return list(chart.to_dict()["datasets"].values())

    assert rows(plot(Both(), kind)) == rows(plot(Captured(), kind))
