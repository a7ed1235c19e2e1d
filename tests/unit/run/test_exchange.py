import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.topic_io import emit_options


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan"), "fast", [5]])
def test_a_rate_is_a_positive_number(rate):
    with pytest.raises(RunProblem, match="is not a positive number of rows a second"):
        emit_options(rate, None, None, ())


def test_without_a_rate_rows_are_sent_as_fast_as_can_be():
    assert emit_options(None, None, None, ()).rate is None
    assert emit_options(0.5, None, None, ()).rate == 0.5
