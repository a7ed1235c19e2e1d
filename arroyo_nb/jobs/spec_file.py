"""The spec of a job as it stands in a file: every error is told with its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError, PromoteProblem, raise_all
from arroyo_nb.jobs import LIBRARIES
from arroyo_nb.jobs import yaml_values as document
from arroyo_nb.jobs.schema_validation import job_schema, problems
from arroyo_nb.jobs.shell_quoting import shell_path
from arroyo_nb.jobs.spec import (
    SEPARATOR,
    STATE,
    VERSION,
    JobSpec,
    Origin,
    TableDefinition,
    Udf,
)
from arroyo_nb.jobs.yaml_values import Item
from arroyo_nb.run.option_values import checkpoint_interval, state_folder
from arroyo_nb.run.options import OPTIONS, RunOption, RunOptions
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import read_definitions, use_compiled
from arroyo_nb.with_options import REFERENCE

if TYPE_CHECKING:
    from arroyo_nb.allowed_roots import Roots
    from arroyo_nb.plan import Plan
    from arroyo_nb.udfs.definition import Udf as Definition


@dataclass(frozen=True)
class JobFile:
    """A spec as it stands in a file: whatever is wrong with it is told with its line.

    Parameters
    ----------
    source
        The file's text.
    item
        What was read of it, with places.
    """

    spec: JobSpec
    source: ScriptText
    item: Item

    def plan(self, *, strict: bool = False) -> Plan:
        """The job's plan; needs no JVM.

        Parameters
        ----------
        strict
            Refuse what Arroyo would refuse, also where the spec does not say so.

        Raises
        ------
        ArroyoError
            With the place in the file.
        """
        from arroyo_nb.catalog import Catalog
        from arroyo_nb.plan.planner import plan_script

        spec, strict = self.spec, strict or self.spec.options.strict
        functions = {udf.name: udf for udf in self.functions}
        catalog = Catalog().with_functions(registry.rows(functions))
        try:
            plan = plan_script(spec.script, catalog, strict=strict)
        except ArroyoError as error:
            raise self.located(error) from None
        self._check_tables(plan)
        ttl = spec.options.ttl
        return plan if ttl is None else plan.with_updating_ttl(ttl)

    @cached_property
    def functions(self) -> tuple[Definition, ...]:
        """The functions of the spec, as far as their source says; nothing is run.

        Raises
        ------
        ArroyoError
            When a source does not define its function, with the place in the file.
        """
        libraries = Path(self.source.name).absolute().parent / LIBRARIES
        if libraries.is_dir():
            use_compiled(libraries)
        return tuple(map(self._function, self.item.listed("udfs"), self.spec.udfs))

    def _function(self, item: Item, udf: Udf) -> Definition:
        source = item.entries["source"]
        try:
            found = read_definitions(ScriptText(udf.source), udf.language)
        except ArroyoError as error:
            for problem in error.problems:
                within = problem.span or Span(0, len(udf.source))
                problem.span = document.place(self.source, source, within)
            raise error.at(self.source) from None
        for definition in found:
            if definition.name == udf.name.lower():
                return definition
        raise PromoteProblem(
            f"the source does not define '{udf.name}'", span=item.entries["name"].span
        ).at(self.source)

    @property
    def state(self) -> Path:
        """The folder that its state is in, in one of the job's name."""
        # Whole: nobody has typed it, so no ~ in it is a user's home.
        return Path(self.source.name).absolute().parent / self.spec.state

    @property
    def command(self) -> str:
        """The one that runs it."""
        return f"arroyo-nb run {shell_path(self.source.name)}"

    def check_runs_here(self, *, strict: bool = False) -> Plan:
        """Refuse what could not be run; gives its plan.

        Raises
        ------
        ArroyoError
            With the place in the file.
        """
        plan = self.plan(strict=strict)
        self.check_runs_on_spark(plan)
        if self.spec.options.real_time:
            self._check_real_time(plan)
        return plan

    def check_runs_on_spark(self, plan: Plan) -> None:
        """Refuse tables whose connectors only Arroyo runs.

        Raises
        ------
        ArroyoError
            With each place in the file where one is used.
        """
        from arroyo_nb.plan.requirements import not_run

        try:
            raise_all(not_run(plan))
        except ArroyoError as error:
            raise self.located(error) from None

    def check_inside(self, plan: Plan, roots: Roots, folder: Path) -> None:
        """Refuse what would be read or written where it is not allowed.

        Parameters
        ----------
        plan
            The job's.
        roots
            Where it is.
        folder
            That of the run's state.

        Raises
        ------
        ArroyoError
            All of it, each with its place in the file.
        """
        from arroyo_nb.plan.paths import outside

        found = outside(plan, roots)
        for problem in found:
            problem.span = problem.span and self.place(problem.span)
        if not roots.allow(folder):
            problem = roots.refusal(f"the state folder '{folder}'")
            item = self.item.entries.get("state")
            named_here = item and folder.is_relative_to(state_folder(self.state))
            problem.span = item.span if item and named_here else None
            found.append(problem)
        try:
            raise_all(found)
        except ArroyoError as error:
            raise error.at(self.source) from None

    def _check_real_time(self, plan: Plan) -> None:
        from arroyo_nb.plan.real_time import check_real_time

        options = self.item.entries["options"].entries
        try:
            checkpoint_interval(self.spec.options.trigger)
        except ArroyoError as problem:
            problem.span = options["trigger"].span
            raise problem.at(self.source) from None
        try:
            check_real_time(plan.sinks)
        except ArroyoError as problem:
            raise self.located(problem) from None

    def place(self, span: Span) -> Span:
        """Where a part of the script stands in the file."""
        start, item = next(p for p in reversed(self._parts) if p[0] <= span.start)
        end = min(span.end - start, len(str(item.value)))
        return document.place(self.source, item, Span(span.start - start, end))

    def located(self, error: ArroyoError) -> ArroyoError:
        """An error of the script as one of the file; returns the error itself."""
        if error.source is self.source:
            return error
        for problem in error.problems:
            problem.span = problem.span and self.place(problem.span)
        return error.at(self.source)

    @cached_property
    def _parts(self) -> list[tuple[int, Item]]:
        """Where in the script each text begins, in order."""
        parts, at = [], 0
        tables = (table.entries["sql"] for table in self.item.listed("tables"))
        for item in (*tables, self.item.entries["sql"]):
            parts.append((at, item))
            at += len(str(item.value)) + len(SEPARATOR)
        return parts

    def _check_tables(self, plan: Plan) -> None:
        """Refuse tables whose name is not what their statement makes."""
        from arroyo_nb.sql.statements import Insert

        made: dict[int, list[str]] = {}
        for statement in plan.statements:
            part = max(at for at, _ in self._parts if at <= statement.span.start)
            names = made.setdefault(part, [])
            # A memory table is made of two statements, its INSERT is the second.
            if not (
                isinstance(statement, Insert) and names == [statement.name.lower()]
            ):
                names.append(statement.name.lower())
        found = []
        tables = self.item.listed("tables")
        for table, (at, _) in zip(tables, self._parts, strict=False):
            name = table.entries["name"]
            if made.get(at) != [name.plain.lower()]:
                message = f"the sql is not the statement that makes '{name.plain}'"
                found.append(PromoteProblem(message, span=name.span))
        try:
            raise_all(found)
        except ArroyoError as error:
            raise error.at(self.source) from None


def load(path: Path) -> JobFile:
    """The spec in a file.

    Raises
    ------
    PromoteProblem
        When it cannot be read, or is not a spec.
    """
    return read(ScriptText(read_text(path), str(path)))


def read_text(path: Path) -> str:
    """The text of a file.

    Raises
    ------
    PromoteProblem
        When it cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PromoteProblem(f"cannot read '{path}': {reason}") from None


def read(source: ScriptText) -> JobFile:
    """The spec in a text.

    Raises
    ------
    PromoteProblem
        When it is not one: unknown keys, other types, a hash that is not that of its
        source, all that is wrong with their places.
    """
    item = document.read(source)
    try:
        _check_version(item)
        raise_all(problems(item, job_schema()))
        file = JobFile(_spec(item), source, item)
        found = (_wrong_hashes(item), _named_twice(item), _wrong_variables(file))
        raise_all((*chain.from_iterable(found), *_wrong_state(item)))
    except ArroyoError as error:
        raise error.at(source) from None
    return file


def _check_version(item: Item) -> None:
    version = item.entries.get("version")
    if version is not None and version.plain != VERSION and type(version.plain) is int:
        raise PromoteProblem(
            f"this is a spec of version {version.plain}; this version of arroyo_nb "
            f"reads version {VERSION}",
            span=version.span,
        )


def _spec(item: Item) -> JobSpec:
    data = item.plain
    udfs = data.get("udfs", ())
    return JobSpec(
        name=data["name"],
        sql=data["sql"],
        tables=tuple(TableDefinition(**table) for table in data.get("tables", ())),
        origin=Origin(**data["origin"]) if "origin" in data else None,
        options=_options(item.entries["options"].entries if "options" in data else {}),
        state=data.get("state", STATE),
        udfs=tuple(Udf(u["name"], u["language"], u["source"]) for u in udfs),
        packages=data.get("packages", {}),
        tags=data.get("tags", {}),
    )


def _options(items: Mapping[str, Item]) -> RunOptions:
    values = {
        row.field: _parsed(row, items[row.job_key])
        for row in OPTIONS
        if row.job_key in items
    }
    return RunOptions(**values)


def _parsed(option: RunOption, item: Item) -> Any:
    try:
        return option.parse(item.plain)
    except ArroyoError as problem:
        problem.span = item.span
        raise


def _wrong_hashes(item: Item) -> Iterable[PromoteProblem]:
    for udf in item.listed("udfs"):
        data = udf.plain
        made = Udf(data["name"], data["language"], data["source"]).sha256
        if made != data["sha256"]:
            yield PromoteProblem(
                f"the source of '{data['name']}' is not the one of this hash: it was "
                "changed",
                span=udf.entries["sha256"].span,
                hint=f"once you have read the change, write {made}",
            )


def _wrong_state(item: Item) -> Iterable[ArroyoError]:
    if (state := item.entries.get("state")) is not None:
        try:
            state_folder(state.plain)
        except ArroyoError as problem:
            problem.span = state.span
            yield problem


def _named_twice(item: Item) -> Iterable[PromoteProblem]:
    seen: set[str] = set()
    for table in item.listed("tables"):
        name = table.entries["name"]
        if name.plain.lower() in seen:
            yield PromoteProblem(f"'{name.plain}' stands here twice", span=name.span)
        seen.add(name.plain.lower())


def _wrong_variables(file: JobFile) -> Iterable[PromoteProblem]:
    """What a job needs of its environment is listed, and no more."""
    listed = file.item.listed("environment")
    names = {item.plain for item in listed}
    for found in REFERENCE.finditer(file.spec.script):
        if found[1] not in names:
            names.add(found[1])
            yield PromoteProblem(
                f"'{found[1]}' is not listed in 'environment'",
                span=file.place(Span(*found.span())),
            )
    for item in listed:
        if item.plain not in file.spec.environment:
            message = f"the script does not name the variable '{item.plain}'"
            yield PromoteProblem(message, span=item.span)
