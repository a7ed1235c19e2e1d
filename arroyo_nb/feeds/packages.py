"""The packages of the clients, which are extras."""

from __future__ import annotations

from arroyo_nb.errors import RunProblem


def require_package(
    table: str, package: str, module: str = "", *, extra: str = "feeds", why: str = ""
) -> None:
    """Make sure that a package is installed.

    Parameters
    ----------
    table
        The table that needs it, for the error; empty: there is none yet.
    package
        Its name.
    module
        One of its modules; empty: it has the same name.
    extra
        What of this package installs it.
    why
        What of the table needs it; empty: every such table does.

    Raises
    ------
    RunProblem
        When it is not.
    """
    if not _is_there(module or package):
        who = f"the table '{table}'" if table else "this URL"
        raise RunProblem(
            f"{who} needs the package {package}" + (f": {why}" if why else ""),
            hint=f"pip install 'arroyo-nb[{extra}]'",
        )


def _is_there(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of what it is a part of
        return False
