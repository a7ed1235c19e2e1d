"""A run's folder and the hosts that read it, without an engine."""

from contextvars import copy_context
from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.run.sources.sources import Sources

SCRIPT = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
SELECT counter FROM ticks"""
CLUSTERS = ["spark://one:7077", "yarn", "k8s://https://one:6443"]
LOCAL = ["local", "local[*]", "local[2,3]", "local-cluster[2,1,1024]"]


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Starts a run on a master, up to its sources; gives why it ended."""

    def feed(*_):
        raise RunProblem("its sources were started")

    monkeypatch.setattr(Sources, "start", feed)

    def start(master, *, temporary):
        spark = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
        engine = SimpleNamespace(
            session=spark,
            restarts=0,
            alive=True,
            died=lambda within_s: None,
            tidy=lambda: None,
        )
        plan = plan_script(SCRIPT, Catalog())
        run = Run(
            prepare("r", plan, RunOptions()),
            engine,
            RunFolder(tmp_path, temporary=temporary),
        )
        run._execution._start(copy_context())
        assert run.state is RunState.FAILED
        return str(run.error)

    return start


@pytest.mark.parametrize("master", CLUSTERS)
def test_a_temporary_folder_is_refused_on_a_cluster(started, master):
    told = started(master, temporary=True)
    assert f"executors at {master} may be on other hosts" in told
    assert "give state_dir= a folder that is mounted at the same path" in told


@pytest.mark.parametrize(
    ("master", "temporary"),
    [*((master, True) for master in LOCAL), *((master, False) for master in CLUSTERS)],
)
def test_a_folder_that_all_hosts_can_read_is_taken(started, master, temporary):
    assert "its sources were started" in started(master, temporary=temporary)
