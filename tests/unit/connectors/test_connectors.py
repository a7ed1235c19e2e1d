"""What all connectors have in common."""

import subprocess
import sys
from functools import partial

import pytest

from arroyo_nb.connectors import CONNECTORS, OnDisk, Streaming, TableSpec
from arroyo_nb.errors import CatalogProblem, RunProblem, Unsupported
from arroyo_nb.formats import FORMATS
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import Holds


@pytest.mark.parametrize("name", CONNECTORS.names)
def test_a_connector_describes_itself(name):
    connector = CONNECTORS.get(name)
    assert connector.info.name == name
    assert connector.info.directions
    assert set(connector.info.formats) <= set(FORMATS.names)
    formats = [FORMATS.get(format_).options for format_ in connector.info.formats]
    for of_format in formats or [()]:
        options = [*connector.info.options, *of_format]
        names = [option.name for option in options]
        assert len(names) == len(set(names))
        assert all(option.doc for option in options)
        assert all(o.default in o.choices for o in options if o.choices and o.default)


@pytest.mark.parametrize("name", CONNECTORS.names)
def test_the_wrong_direction_is_refused(name, tmp_path):
    connector = CONNECTORS.get(name)
    spec = TableSpec("mine", Schema())
    kinds = {direction.value for direction in connector.info.directions}
    if not connector.info.runs:
        for use in (connector.recorder, partial(connector.writer, state=tmp_path)):
            with pytest.raises(Unsupported, match="runs in Arroyo only"):
                use(spec)
        return
    if "sink" not in kinds:
        with pytest.raises(RunProblem, match=r"'mine' is a (source|lookup table)"):
            connector.writer(spec, tmp_path)
    if "source" not in kinds:
        assert "lookup" in kinds or connector.columns({}) is None
        with pytest.raises(RunProblem, match=r"'mine' is a (sink|lookup table)"):
            connector.recorder(spec)


@pytest.mark.parametrize("name", CONNECTORS.names)
def test_a_connector_whose_options_hold_paths_says_which(name):
    connector = CONNECTORS.get(name)
    holds_paths = any(o.holds is Holds.PATH for o in connector.info.options)
    if connector.info.runs and holds_paths:
        assert isinstance(connector, OnDisk)


@pytest.mark.parametrize("name", CONNECTORS.names)
def test_real_time_is_for_what_spark_reads_itself(name):
    connector = CONNECTORS.get(name)
    assert not connector.info.real_time or isinstance(connector, Streaming)


def test_an_unknown_connector_names_the_nearest():
    with pytest.raises(
        CatalogProblem, match="Unknown connector 'singel_file'"
    ) as failed:
        CONNECTORS.get("singel_file")
    assert failed.value.hint == "did you mean 'single_file'?"


def test_describing_all_connectors_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from arroyo_nb.connectors import CONNECTORS\n"
        "from arroyo_nb.formats import FORMATS\n"
        "for registry in (CONNECTORS, FORMATS):\n"
        "    for name in registry.names: registry.get(name)\n"
        "heavy = {'pyspark', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
