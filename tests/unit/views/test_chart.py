"""Which chart fits which columns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.views.chart import plot


def hour(number: int) -> datetime:
    return datetime(2013, 1, 1, number)


NINE, TEN, ELEVEN = hour(9), hour(10), hour(11)
WINDOWS = [{"start": NINE, "end": TEN}, {"start": TEN, "end": ELEVEN}]


class Rows:
    """A run with these result columns."""

    def __init__(self, **columns: list[Any]) -> None:
        self._table = pa.table(columns)

    def table(self) -> pa.Table:
        return self._table


def drawn(chart: Any) -> tuple[str, dict[str, Any]]:
    made = chart.to_dict()
    fields = {
        channel: encoding.get("field", encoding.get("datum"))
        for channel, encoding in made["encoding"].items()
        if channel != "tooltip"
    }
    return made["mark"]["type"], fields


@pytest.mark.parametrize(
    ("columns", "mark", "fields"),
    [
        (
            {"window": WINDOWS, "flights": [3, 4]},
            "bar",
            {"x": "window", "x2": "window end", "y": "flights", "y2": 0},
        ),
        (
            {"w": WINDOWS, "origin": ["EWR", "JFK"], "n": [3, 4], "mean": [1.0, 2.0]},
            "line",
            {"x": "w", "y": "n", "color": "origin", "detail": "_stretch"},
        ),
        ({"at": [NINE, TEN], "n": [1, 2]}, "bar", {"x": "at", "y": "n"}),
        ({"carrier": ["UA", "AA"], "n": [1, 2]}, "bar", {"x": "carrier", "y": "n"}),
        (
            {"at": [NINE] * 20, "id": [str(i) for i in range(20)], "n": [1] * 20},
            "square",
            {"x": "at", "y": "id", "color": "n"},
        ),
        (
            {"w": WINDOWS * 10, "id": [str(i) for i in range(20)], "n": [1] * 20},
            "rect",
            {"x": "w", "x2": "w end", "y": "id", "color": "n"},
        ),
        (
            {"id": [str(i) for i in range(20)], "n": [1] * 20},
            "bar",
            {"x": "n", "y": "id"},
        ),
        (
            {"a.b": ["x", "y"], "n[0]": [1, 2]},
            "bar",
            {"x": "a\\.b", "y": "n\\[0\\]"},
        ),
    ],
)
def test_picks_what_fits(
    columns: dict[str, list[Any]], mark: str, fields: dict[str, Any]
) -> None:
    assert drawn(plot(Rows(**columns))) == (mark, fields)


def test_no_line_crosses_a_gap_between_windows() -> None:
    hours = [*range(4), 6, 7, 1, 2, 5]
    windows = [{"start": hour(h), "end": hour(h + 1)} for h in hours]
    colours = ["EWR"] * 6 + ["JFK"] * 3
    rows = Rows(w=windows, origin=colours, n=list(range(9)))
    assert list(plot(rows).data["_stretch"]) == [0, 0, 0, 0, 1, 1, 0, 0, 1]


def test_columns_can_be_named() -> None:
    rows = Rows(window=WINDOWS, origin=["EWR", "JFK"], n=[3, 4], mean=[1.0, 2.0])
    assert drawn(plot(rows, x="origin", y="mean", color="n"))[1] == {
        "x": "origin",
        "y": "mean",
        "color": "n",
    }


def test_the_edges_of_a_window_have_the_names_that_pandas_gives_them() -> None:
    rows = Rows(window=WINDOWS, n=[3, 4])
    by_start, by_end = (plot(rows, x=f"window.{e}", y="n") for e in ("start", "end"))
    assert drawn(by_start)[1]["x"] == "window"
    assert drawn(by_end)[1]["x"] == "window end"
    with pytest.raises(RunProblem, match=r"no column 'n\.start'"):
        plot(rows, x="n.start")


@pytest.mark.parametrize(
    ("columns", "asked", "said"),
    [
        ({"n": []}, {}, "there is no row to draw"),
        ({"n": [1]}, {}, "there is nothing to draw by default"),
        ({"a": ["x"], "n": [1]}, {"y": "m"}, "the result has no column 'm'"),
    ],
)
def test_says_why_there_is_no_chart(
    columns: dict[str, list[Any]], asked: dict[str, str], said: str
) -> None:
    with pytest.raises(RunProblem, match=said):
        plot(Rows(**columns), **asked)


def test_many_names_have_a_line_each_and_the_largest_are_kept() -> None:
    names = [f"name {n}" for n in range(90)]
    made = plot(Rows(id=names, n=[*range(90)])).to_dict()
    assert made["height"] == {"step": 16}
    assert made["title"] == "n by id: the 60 largest of 90"
    (rows,) = made["datasets"].values()
    assert {row["n"] for row in rows} == {*range(30, 90)}


def test_a_chart_has_a_dark_ground() -> None:
    made = plot(Rows(w=WINDOWS, n=[1, 2]), theme="dark").to_dict()
    assert made["config"]["background"] == "#0f1318"
    assert made["config"]["axis"]["labelColor"] == "#e6edf3"
    assert made["mark"]["stroke"] == "#0f1318"
    assert "background" not in plot(Rows(w=WINDOWS, n=[1, 2])).to_dict()["config"]
    with pytest.raises(RunProblem, match="no theme 'dim'"):
        plot(Rows(w=WINDOWS, n=[1, 2]), theme="dim")
