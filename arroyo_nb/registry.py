"""One small registry for every plug-in folder, and the did-you-mean.

A plug-in is a module of a folder that binds one agreed name. Folders are listed
without importing anything; a module is imported when its plug-in is asked for, so
a heavy library is loaded only by the script that uses it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.repairs import NearestName
from arroyo_nb.source import Span

T = TypeVar("T")


NEAR = 0.65
"""How much of two names must agree for one to be a slip of the other."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like it; None: there is none.

    >>> nearest_name("statusS", ["id", "Status"])
    'Status'
    >>> nearest_name("prot", ["root", "port"])
    'port'
    """
    lowered = {candidate.lower(): candidate for candidate in sorted(known)}
    for low, candidate in lowered.items():  # two letters that have changed places
        if sorted(low) == sorted(name.lower()):
            return candidate
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), lowered, n=1, cutoff=NEAR)
    return lowered[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known name, or lists the few there are.

    >>> did_you_mean("flihgts", ["flights", "airports"])
    "did you mean 'flights'?"
    >>> did_you_mean("month", ["count", *map(str, range(18))]) is None
    True
    """
    names = sorted(known)
    near = nearest(name, names)
    if near:
        return near
    if names and len(names) <= 18:
        return "known: " + ", ".join(names)
    return None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known name, where one is near.

    >>> nearest("orders", ["flights", "airports"]) is None
    True
    """
    near = nearest_name(name, known)
    if near is None:
        return None
    return NearestName.hint(f"did you mean '{near}'?", name, near)


class Registry(Generic[T]):
    """The plug-ins of some folders, by name.

    Parameters
    ----------
    kind
        The word for one plug-in in errors, such as ``connector``.
    packages
        Dotted names of the folders; each module in them is one plug-in of that name.
    attribute
        The name that each module binds.
    dashed
        Whether names have dashes where their modules have underscores.
    aliases
        The other words for which a plug-in is suggested.
    """

    def __init__(
        self,
        kind: str,
        packages: Sequence[str],
        attribute: str,
        *,
        dashed: bool = False,
        aliases: Callable[[T], Collection[str]] | None = None,
    ) -> None:
        self._kind = kind
        self._packages = packages
        self._attribute = attribute
        self._dashed = dashed
        self._aliases = aliases

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All plug-in names, sorted; found without importing them."""
        return tuple(sorted(self._modules))

    @cached_property
    def _modules(self) -> Mapping[str, str]:
        """The dotted name of each plug-in's module, by the plug-in's name."""
        folders = [importlib.import_module(package) for package in self._packages]
        modules = (
            (folder.__name__, module.name)
            for folder in folders
            for module in pkgutil.iter_modules(folder.__path__)
        )
        return {
            name.replace("_", "-") if self._dashed else name: f"{folder}.{name}"
            for folder, name in modules
            if not name.startswith("_")
        }

    def get(self, name: str, *, span: Span | None = None) -> T:
        """The plug-in of that name.

        Raises
        ------
        CatalogProblem
            When there is none; the hint names the nearest.
        """
        if name not in self._modules:
            raise CatalogProblem(
                f"Unknown {self._kind} '{name}'",
                span=span,
                hint=self._hint(name),
            )
        module = importlib.import_module(self._modules[name])
        plugin: T = getattr(module, self._attribute)
        return plugin

    def _hint(self, name: str) -> str | None:
        if (aliases := self._aliases) is not None:
            for known in self.names:
                if name.lower() in aliases(self.get(known)):
                    text = f"did you mean '{known}'? known: {', '.join(self.names)}"
                    return NearestName.hint(text, name, known)
        return did_you_mean(name, self.names)
