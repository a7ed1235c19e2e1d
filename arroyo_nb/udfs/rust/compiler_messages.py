"""What cargo and the compiler say, as errors with places in the user's source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.source import Span
from arroyo_nb.udfs.rust.crate import MANIFEST, SOURCE, Crate

_Message = Mapping[str, Any]
_BUILD_SCRIPT = "custom-build"


@dataclass
class CargoOutput:
    """What a build writes as JSON, a line for each thing.

    Parameters
    ----------
    crate
        What is built.
    folder
        Where its files are.
    """

    crate: Crate
    folder: Path
    library: Path | None = None
    """The library, when it was built."""
    compiled: set[str] = field(default_factory=set)
    """The other crates that are compiled."""
    _own: list[_Message] = field(default_factory=list)
    _others: list[tuple[str, _Message]] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take one line."""
        try:
            said = json.loads(line)
        except ValueError:  # a build script may write what it likes
            return
        if not isinstance(said, dict):
            return
        is_own = said.get("manifest_path") == str(self.folder / MANIFEST)
        match said.get("reason"):
            case "compiler-artifact" if is_own:
                self.library = Path(said["filenames"][0])
            case "compiler-artifact" if _BUILD_SCRIPT not in said["target"]["kind"]:
                self.compiled.add(said["package_id"])
            case "compiler-message" if said["message"]["level"].startswith("error"):
                if is_own:
                    self._own.append(said["message"])
                else:
                    self._others.append((said["target"]["name"], said["message"]))

    def problems(self) -> list[ArroyoError]:
        """The errors of the compiler: those of the source, else of a dependency."""
        found = {str(problem): problem for problem in self._problems()}
        return list(found.values())

    def _problems(self) -> Iterator[ArroyoError]:
        # "aborting due to 2 previous errors" has no place.
        placed = [message for message in self._own if message["spans"]]
        for message in placed or self._own:
            yield self._problem(message)
        if not self._own:
            for name, message in self._others[:1]:
                yield RunProblem(
                    f"the crate '{name}', which the Rust UDF '{self.crate.name}' "
                    f"depends on, does not compile: {_first_line(message)}",
                    hint="another version in [dependencies] may",
                )

    def _problem(self, message: _Message) -> ArroyoError:
        if "linker `" in message["message"] and not message["spans"]:
            return RunProblem(
                f"the Rust UDF '{self.crate.name}' cannot be linked: "
                f"{_first_line(message)}",
                hint="Rust needs a C compiler: install gcc or clang",
            )
        spans = [span for span in message["spans"] if span["is_primary"]]
        label = next((span["label"] for span in spans if span["label"]), None)
        said = _first_line(message) + (f": {label}" if label else "")
        places = (self._span(span) for span in spans)
        problem = CatalogProblem(
            said.replace("\n", " "),
            span=next((place for place in places if place is not None), None),
            hint=_hint(message["children"]),
        )
        return problem.at(self.crate.source)

    def _span(self, span: _Message | None) -> Span | None:
        """The place in the user's source; of what a macro wrote that of the macro."""
        while span is not None and span["file_name"] != SOURCE:
            expansion = span["expansion"]
            span = expansion and expansion["span"]
        if span is None:
            return None
        written = self.crate.source.text.encode("utf-8", "replace")
        start, end = (
            len(written[: span[key]].decode(errors="ignore"))
            for key in ("byte_start", "byte_end")
        )
        return Span(start, end)


def _first_line(message: _Message) -> str:
    text = str(message["message"]).partition("\n")[0]
    code = message.get("code")
    is_error = code is not None and str(code["code"]).startswith("E")
    return f"{text} ({code['code']})" if code is not None and is_error else text


def _hint(children: Sequence[_Message]) -> str | None:
    """What the compiler advises."""
    for child in children:
        if child["level"] != "help":
            continue
        advice = str(child["message"]).partition("\n")[0]
        new = [s["suggested_replacement"] for s in child["spans"]]
        written = new[0].strip() if len(new) == 1 and new[0] else ""
        return f"{advice}: {written}" if written and written not in advice else advice
    return None
