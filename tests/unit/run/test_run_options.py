"""The table of options: each says the same in cells, in Python and in job specs."""

import inspect
from dataclasses import fields

from arroyo_nb.jobs.schema_validation import job_schema
from arroyo_nb.magic_options import FLAGS
from arroyo_nb.run.options import DEFAULTS, OPTIONS, RunOptions
from arroyo_nb.session import Session

OF_THE_CALL = {"self", "sql", "name", "wait", "source"}


def test_the_table_has_each_field_once():
    assert sorted(o.field for o in OPTIONS) == sorted(
        f.name for f in fields(RunOptions)
    )


def test_session_run_takes_what_the_table_says_with_its_defaults():
    signature = inspect.signature(Session.run).parameters
    taken = {name: p for name, p in signature.items() if name not in OF_THE_CALL}
    assert set(taken) == {o.name for o in OPTIONS if o.in_python}
    given = {name: p.default for name, p in taken.items()} | {"strict": False}
    assert RunOptions.parse(given) == DEFAULTS


def test_a_spec_says_what_the_table_says():
    options = job_schema()["properties"]["options"]["properties"]
    assert set(options) == {o.job_key for o in OPTIONS if o.job_key}


def test_what_a_spec_says_of_an_option_is_read_as_the_same_value():
    for option in OPTIONS:
        value = getattr(DEFAULTS, option.field)
        if option.job_key and value is not None:
            assert option.parse(option.write(value)) == value


def test_a_cell_takes_the_flags_of_the_table():
    flags = {flag.key: flag for flag in FLAGS}
    for option in OPTIONS:
        assert (option.name in flags) == bool(option.flag)
        if option.flag:
            assert flags[option.name].doc == option.doc
