"""Two runs side by side: windows, results and late rows that differ are named."""

import re
from base64 import b64decode
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.snapshot import WindowBar, WindowState
from arroyo_nb.views.compare import COMPARISON_VIEWS
from arroyo_nb.whatif.comparison import Comparison, paired
from arroyo_nb.whatif.differences import difference

HOUR = timedelta(hours=1)
START = datetime(2013, 2, 8)


def bar(hour, rows, late=0):
    start = START + hour * HOUR
    return WindowBar(start, start + HOUR, rows, late, WindowState.CLOSED, 3)


def result(*rows):
    return pa.table(
        {
            "w": [
                {"start": START + h * HOUR, "end": START + (h + 1) * HOUR}
                for h, _ in rows
            ],
            "n": [n for _, n in rows],
        }
    )


def compared(names=("hasty", "patient"), **others):
    first, second = result((8, 3), (9, 4)), result((8, 5), (9, 4), (10, 1))
    found = {
        "names": names,
        "pairs": paired([bar(8, 3, 2), bar(9, 4)], [bar(8, 5), bar(9, 4), bar(10, 1)]),
        "result": difference(first, second),
        "late_counts": (2, 0),
        "late": None,
        "result_rows": (2, 3),
        "notes": (),
        "views": COMPARISON_VIEWS,
    }
    return Comparison(**(found | others))


def test_windows_are_paired_by_their_edges():
    pairs = compared().pairs
    assert [pair.start for pair in pairs] == [START + n * HOUR for n in (8, 9, 10)]
    assert [pair.rows for pair in pairs] == [(3, 5), (4, 4), (0, 1)]
    assert [pair.late_rows for pair in pairs] == [(2, 0), (0, 0), (0, 0)]
    assert [pair.differs for pair in pairs] == [True, False, True]
    assert pairs[2].first is None
    assert compared().windows()["differs"].to_pylist() == [True, False, True]


def test_rows_of_one_window_stand_beside_each_other():
    rows = compared().table().to_pylist()
    assert [
        (row["only_in"], row["times"], row["w.start"].hour, row["n"]) for row in rows
    ] == [
        ("hasty", 1, 8, 3),
        ("patient", 1, 8, 5),
        ("patient", 1, 10, 1),
    ]


def test_the_text_says_what_differs():
    text = repr(compared())
    title = text.splitlines()[0]
    assert "hasty against patient: 2 windows of 3 differ" in title
    assert "late rows: 2 against 0" in title
    assert "result rows only in one: 1 of 2 against 2 of 3" in title
    assert "2013-02-08 08:00" in text
    assert "09:00 – 10:00" not in text


def test_runs_that_are_the_same_are_said_to_be():
    same = compared(
        pairs=paired([bar(8, 3)], [bar(8, 3)]),
        result=difference(result((8, 3)), result((8, 3))),
        late_counts=(0, 0),
    )
    assert same.is_same
    assert repr(same) == "hasty and patient have the same windows, late rows and result"
    assert same.table().num_rows == 0


def test_the_page_draws_both_and_marks_what_differs():
    page = compared(names=("<b>one", "two"))._repr_html_()
    assert "<b>one" not in page
    (data,) = re.findall(r"base64,([^\"]+)\"", page)
    drawn = b64decode(data).decode()
    assert drawn.count('class="bar closed"') == drawn.count('class="bar open"') == 3
    # In the legend, and of two windows.
    assert drawn.count('class="late"') == 3
    assert "&lt;b&gt;one" in drawn
    assert "<script" not in page


def test_hundreds_of_windows_are_not_all_drawn_and_that_is_said():
    many = [bar(n, 2) for n in range(300)]
    found = compared(pairs=paired(many, [bar(n, 1) for n in range(300)]))
    page = found._repr_html_()
    assert "180 older windows not drawn" in page
    assert "290 other windows that differ not listed" in page


def test_late_rows_that_cannot_be_listed_are_refused_with_words():
    with pytest.raises(RunProblem, match="cannot be listed"):
        compared().late_table()
