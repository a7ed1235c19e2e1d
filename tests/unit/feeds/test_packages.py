"""The packages that tables of feeds need."""

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds.packages import require_package


def test_what_is_installed_is_enough():
    require_package("t", "pytest")
    require_package("t", "no-such-name", "xml.dom")


@pytest.mark.parametrize("module", ["no_such", "no_such.part", "xml.no_such"])
def test_what_is_missing_is_told_with_what_installs_it(module):
    with pytest.raises(RunProblem) as told:
        require_package("t", "some-name", module, extra="redis", why="'a' is 'b'")
    said = "the table 't' needs the package some-name: 'a' is 'b'"
    assert told.value.message == said
    assert told.value.hint == "pip install 'arroyo-nb[redis]'"


def test_what_is_no_table_yet_is_a_url():
    with pytest.raises(RunProblem, match="this URL needs the package no_such"):
        require_package("", "no_such")
