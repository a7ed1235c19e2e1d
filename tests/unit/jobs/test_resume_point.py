"""Where a run goes on is told as its checkpoint says."""

from __future__ import annotations

from arroyo_nb.jobs.runner.resume_point import BEGINNING, resume_point


def log(folder, batch, plan):
    checkpoint = folder / "outputs" / "0" / "checkpoint"
    for name, text in (("commits", "v1\n{}"), ("offsets", plan)):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
        (checkpoint / name / str(batch)).write_text(text)


def test_it_is_after_the_newest_batch_whose_plan_can_be_read(tmp_path):
    assert resume_point(tmp_path) == BEGINNING
    log(tmp_path, 4, 'v1\n{}\n{"orders":{"0":4900}}')
    assert resume_point(tmp_path) == "after batch 4 (orders 0:4900)"
    log(tmp_path, 5, "")
    assert resume_point(tmp_path) == "after batch 4 (orders 0:4900)"


def test_partitions_are_in_the_order_of_their_numbers(tmp_path):
    log(tmp_path, 1, 'v1\n{}\n{"orders":{"10":5,"2":4,"0":3}}')
    assert (
        resume_point(tmp_path) == "after batch 1 (orders 0:3, orders 2:4, orders 10:5)"
    )
