"""Lays out the editor of the cells as a prebuilt extension of JupyterLab.

The modules of ``arroyo_nb/editor/static`` are plain JavaScript: nothing is compiled, so
no Node is needed. They are copied into a folder that is named after their content: a
browser that has cached older ones loads the new ones. The standard library suffices, as
the build of a wheel runs it (``hatch_build.py``).

Usage: python scripts/labextension.py FOLDER
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "arroyo_nb" / "editor" / "static"
NAME = "arroyo-nb"
INSTALLED = f"share/jupyter/labextensions/{NAME}"
"""Where JupyterLab looks for it, from the prefix of an environment."""

_HASH_DIGITS = 20


def lay_out(folder: Path) -> None:
    """Write the extension into a folder; what was in there is removed.

    Parameters
    ----------
    folder
        ``labextensions/arroyo-nb`` below one of Jupyter's data folders, or a folder
        that is copied there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    version = content_hash()
    static = folder / "static" / version
    schemas = folder / "schemas" / NAME
    for target in (static, schemas):
        target.mkdir(parents=True)
    for module in sorted(SOURCES.glob("*.js")):
        shutil.copyfile(module, static / module.name)
    for schema in sorted(SOURCES.glob("schemas/*.json")):
        shutil.copyfile(schema, schemas / schema.name)
    package = _package(f"static/{version}/remoteEntry.js")
    _write(folder / "package.json", package)
    # JupyterLab reads the version of the settings from there.
    _write(schemas / "package.json.orig", package)
    _write(
        folder / "install.json",
        {
            "packageManager": "python",
            "packageName": NAME,
            "uninstallInstructions": f"pip uninstall {NAME}",
        },
    )


def content_hash() -> str:
    """A name for the modules as they are: other content has another one."""
    digest = hashlib.sha256()
    for module in sorted(SOURCES.glob("*.js")):
        digest.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    return digest.hexdigest()[:_HASH_DIGITS]


def _package(load: str) -> dict[str, object]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "name": NAME,
        "version": project["version"],
        "description": project["description"],
        "license": project["license"],
        "jupyterlab": {
            "extension": True,
            "schemaDir": "schemas",
            "_build": {"load": load, "extension": "./extension"},
        },
    }


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
