"""Numbers of a column as text."""

from __future__ import annotations

import pytest

from arroyo_nb.views.formatting import column


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        # What somebody wrote is shown as it was; what was computed is rounded.
        ([35.00085, 135.77732], ["35.00085", "135.77732"]),
        ([1.0842317], ["1.0842317"]),
        ([0.00025, 0.5], ["0.00025", "0.50000"]),
        ([100 / 3], ["33.333"]),
        ([35.00085, 100 / 3], ["35.00085", "33.33333"]),
        ([0.1 + 0.2], ["0.3"]),
        ([1e-9, 2.0], ["1e-09", "2"]),
        ([[35.00085, 1.5], [1 / 3]], ["[35.00085, 1.5]", "[0.333]"]),
        ([{"lat": 35.00085, "on": None}], ["{lat: 35.00085, on: NULL}"]),
    ],
)
def test_numbers_have_the_digits_that_they_came_with(values, shown):
    assert column(values) == shown
