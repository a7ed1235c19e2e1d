"""The wheel brings the extension of JupyterLab, and takes it away, without Node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INSTALLED = Path("share", "jupyter", "labextensions", "arroyo-nb")


def run(*arguments: str, home: Path) -> str:
    """Run a program where no Node is found; its output, errors included."""
    environment = {
        "PATH": str(home / "nothing"),
        "HOME": str(home),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
    }
    through = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
    through |= {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
    done = subprocess.run(
        arguments,
        cwd=home,
        env=through | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A fresh environment that can import the JupyterLab of this one."""
    pytest.importorskip("jupyterlab")
    venv.create(tmp_path / "fresh", with_pip=True)
    made = tmp_path / "fresh" / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = Path(run(str(made), "-c", asked, home=tmp_path).strip())
    (folder / "there.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return made


def install(python: Path, *arguments: str, home: Path) -> None:
    # The environment behind it has this project too, which must not count.
    pip = (str(python), "-m", "pip", "install", "--quiet", "--no-deps")
    run(*pip, "--ignore-installed", *arguments, home=home)


def listed(python: Path, home: Path) -> str:
    return run(str(python), "-m", "jupyterlab.labextensions", "list", home=home)


@pytest.mark.long("notebooks")
@pytest.mark.parametrize("editable", [False, True])
def test_pip_installs_and_uninstalls_the_extension(
    tmp_path: Path, python: Path, editable: bool
) -> None:
    prefix = python.parents[1]
    assert not (prefix / INSTALLED).exists()
    if editable:
        install(python, "--editable", str(ROOT), home=tmp_path)
    else:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
        run(*pip, "--wheel-dir", str(tmp_path), str(ROOT), home=tmp_path)
        (wheel,) = tmp_path.glob("*.whl")
        look_into(wheel)
        install(python, str(wheel), home=tmp_path)
    package = json.loads((prefix / INSTALLED / "package.json").read_text())
    entry = prefix / INSTALLED / package["jupyterlab"]["_build"]["load"]
    assert (entry.parent / "editor.js").exists()
    told = listed(python, tmp_path)
    line = next(line for line in told.splitlines() if "arroyo-nb v" in line)
    assert "enabled" in line
    assert "OK" in line
    assert str(prefix) in told
    run(
        *(str(python), "-m", "pip", "uninstall", "--yes", "--quiet", "arroyo-nb"),
        home=tmp_path,
    )
    assert not (prefix / INSTALLED).exists()


def look_into(wheel: Path) -> None:
    """The wheel has the page's modules once, where JupyterLab looks for them."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    assert b"Requires-Dist: datafusion==48.0.*" in archive.read(metadata)
    ours = [name for name in names if "/data/share/jupyter/labextensions/" in name]
    endings = {name.split("/labextensions/arroyo-nb/")[1] for name in ours}
    assert {"package.json", "install.json", "schemas/arroyo-nb/editor.json"} <= endings
    modules = [name for name in names if name.endswith("/editor.js")]
    assert len(modules) == 1
    assert modules[0] in ours
