"""Descriptions of a state that Spark has removed, and such as it still needs."""

from __future__ import annotations

import pytest
from saved_states import SavedState

from arroyo_nb.errors import StateProblem
from arroyo_nb.state.checkpoint import inspect_checkpoint
from arroyo_nb.state.manifest import Manifest


@pytest.fixture
def restarted(tmp_path):
    """A query that was started again at batch 12, with a schema that is new, and what
    describes its state: the older log and schema, then the newer ones."""
    SavedState("large_log").unpack(tmp_path)
    folder = tmp_path / "live/job"
    operator = folder / "outputs/0/checkpoint/state/0"
    log = operator / "_metadata/v2"
    (schema,) = (operator / "_stateSchema/default").iterdir()
    newer = schema.with_name("1_new")
    newer.write_bytes(schema.read_bytes())
    (log / "12").write_text((log / "0").read_text().replace(schema.name, newer.name))
    manifest = Manifest(folder).updated({0: 2})
    return manifest, operator.parents[1], (log / "0", schema), (log / "12", newer)


def test_what_spark_has_removed_is_not_missed(restarted):
    manifest, checkpoint, older, newer = restarted
    assert set(manifest.listed()) >= {*older, *newer}
    assert inspect_checkpoint(checkpoint, manifest).next_batch == 3
    for path in older:
        path.unlink()
    assert inspect_checkpoint(checkpoint, manifest).next_batch == 3


@pytest.mark.parametrize("number", [0, 1])
def test_the_newest_description_must_be_there(restarted, number):
    manifest, checkpoint, _, newer = restarted
    newer[number].unlink()
    with pytest.raises(StateProblem, match="is gone: it describes the state"):
        inspect_checkpoint(checkpoint, manifest)


def test_a_newest_description_that_is_damaged_is_told(restarted):
    manifest, checkpoint, _, (newest, _) = restarted
    newest.write_bytes(b"v2\n\xff")
    unknown = manifest.without(lambda name: name.endswith("v2/12"))
    with pytest.raises(StateProblem, match="12' is damaged"):
        inspect_checkpoint(checkpoint, unknown)
