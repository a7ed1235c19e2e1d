"""The build of a wheel adds the extension of JupyterLab, also to an editable one."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LabExtensionHook(BuildHookInterface):  # type: ignore[misc]
    """Lays the extension out and has it installed below ``share/jupyter``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Called before a wheel is made."""
        script = runpy.run_path(str(Path(self.root) / "scripts" / "labextension.py"))
        folder = Path(self.root) / "build" / "labextension"
        script["lay_out"](folder)
        build_data["shared_data"][str(folder)] = script["INSTALLED"]
