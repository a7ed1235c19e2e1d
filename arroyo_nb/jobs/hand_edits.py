"""Finds what was changed by hand in a job's folder since its last promotion.

A promotion notes a check sum of every file that it writes, and of every part of the
spec. So the next one knows which files somebody has edited, and refuses to overwrite
them. Parts of the spec that a promotion keeps, as its tags, are no loss.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs import PLAN, SPEC
from arroyo_nb.jobs.review import review
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import load
from arroyo_nb.run.options import job_options

NOTES = ".promoted.json"
"""The check sums, beside the spec."""

_COMMENT = re.compile(r"(^|\s)#")


@dataclass(frozen=True)
class Promoted:
    """The files of a folder as the last promotion wrote them.

    Parameters
    ----------
    files
        Check sums by paths from the folder.
    parts
        Check sums of the parts of the spec.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Promoted | None:
        """What is noted in a folder; None where nothing is, or it cannot be read."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            noted = json.loads((folder / NOTES).read_text("utf-8"))
            return cls(dict(noted["files"]), dict(noted["parts"]))
        return None

    def and_then(
        self, folder: Path, texts: Mapping[str, str], spec: JobSpec
    ) -> Promoted:
        """The same after a promotion that wrote these texts; files of an earlier one
        stay noted while they are there."""
        earlier = {n: d for n, d in self.files.items() if (folder / n).exists()}
        written = {name: _digest(text) for name, text in texts.items()}
        return Promoted({**earlier, **written}, _parts(spec))

    @property
    def text(self) -> str:
        """As it is noted."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def leftovers(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Files and folders of an earlier promotion that this one does not write."""
    noted = Promoted.of(folder) or Promoted()
    kept = {_top(name) for name in texts}
    names = (n for n in noted.files if n not in texts and (folder / n).exists())
    tops = dict.fromkeys(name if _top(name) in kept else _top(name) for name in names)
    return [f"{top}/" if (folder / top).is_dir() else top for top in tops]


def refuse_loss(folder: Path, texts: Mapping[str, str], spec: JobSpec) -> None:
    """Refuse to overwrite what was changed by hand since the last promotion.

    Parameters
    ----------
    texts
        What is to be written, by paths from the folder.
    spec
        That of the promotion.

    Raises
    ------
    PromoteProblem
        When something would be lost; it names each file.
    """
    lost = list(_lost(folder, texts, spec))
    if lost:
        raise PromoteProblem(
            f"changed by hand since the last promotion: {', '.join(lost)}; promoting "
            "again would overwrite that",
            hint="take the change over into the cell and add --overwrite, or promote "
            "to another folder with -o",
        )


def _lost(folder: Path, texts: Mapping[str, str], spec: JobSpec) -> Iterator[str]:
    noted = Promoted.of(folder)
    if noted is None:
        yield from _lost_of_earlier_version(folder, texts, spec)
        return
    for name, text in texts.items():
        found = _read(folder / name)
        if found in (None, text) or _digest(found or "") == noted.files.get(name):
            continue
        if name != SPEC:
            yield f"'{folder / name}'"
        elif parts := list(_lost_parts(folder / SPEC, noted, spec)):
            yield f"'{folder / name}' ({', '.join(parts)})"


def _lost_parts(path: Path, noted: Promoted, spec: JobSpec) -> Iterator[str]:
    """The parts of an edited spec that are other in the new one."""
    edited = load(path).spec
    now, then = _parts(spec), _parts(edited)
    for part, digest in then.items():
        if digest not in (noted.parts.get(part), now[part]):
            yield part
    if _has_comments(_read(path) or "", edited):
        yield "comments"


def _lost_of_earlier_version(
    folder: Path, texts: Mapping[str, str], spec: JobSpec
) -> Iterator[str]:
    """Of a folder without check sums its plan tells whether its spec was edited."""
    path = folder / SPEC
    if _read(path) in (None, texts[SPEC]) or not (folder / PLAN).exists():
        return
    was_edited = bool(review(path).unreviewed)
    if was_edited and _parts(load(path).spec)["sql"] != _parts(spec)["sql"]:
        yield f"'{path}' (its plan is another than {PLAN})"


def _parts(spec: JobSpec) -> dict[str, str]:
    """A check sum of each part of a spec but the versions, which are those of the
    day."""
    parts = {
        "name": spec.name,
        "sql": spec.sql,
        "tables": spec.tables,
        "origin": spec.origin,
        "state": spec.state,
        "udfs": spec.udfs,
        "tags": sorted(spec.tags.items()),
        **{row.field: value for row, value in job_options(spec.options)},
    }
    return {name: _digest(repr(value)) for name, value in parts.items()}


def _has_comments(text: str, spec: JobSpec) -> bool:
    """Whether a YAML text has comments, which no promotion keeps; a hash in a quoted
    text is taken for one."""
    scripts = (spec.sql, *(table.sql for table in spec.tables))
    scripts = (*scripts, *(udf.source for udf in spec.udfs))
    sql = {line.strip() for script in scripts for line in script.splitlines()}
    lines = (line for line in text.splitlines() if line.strip() not in sql)
    return any(_COMMENT.search(line) for line in lines)


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return ""  # nothing that a promotion has written


def _top(name: str) -> str:
    return name.partition("/")[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
