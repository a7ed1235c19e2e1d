"""How a path is written for Spark and for the JVM.

A folder may have any name. Python's functions take a path as it is; others read more
into it, each in its own way:

- Hadoop's ``Path`` takes a text literally behind its scheme: a percent-encoded address,
  as :meth:`pathlib.Path.as_uri` makes, names another file.
- Spark's readers take ``{}[]*?\\`` for a pattern, in which a backslash escapes.
- A class path is cut at each colon, some of Spark's and log4j's settings at each comma,
  and more of them expand ``%`` and ``$``. Nothing escapes there: the work folder is
  plain (:func:`is_plain`), and what has a colon is given by a link (:class:`Links`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

SEARCHED = "\\ { } [ ] * ?"
"""What Hadoop's patterns give a meaning to."""

_SPECIAL = re.compile(f"[{re.escape(SEARCHED.replace(' ', ''))}]")

_NOT_PLAIN = re.compile(r"[^\w/.+@=-]", re.ASCII)

_LAST_OF_BASIC_PLANE = "\uffff"

_LINK_CHARS = 16


def user_path(typed: str | Path) -> Path:
    """A path that a user has typed: ``~`` and ``~name`` are homes, as in a shell. Where
    no user has that name, it is a folder's."""
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)


def spark_path(path: Path) -> str:
    """A path for what takes no pattern: checkpoints, and whatever is written.

    >>> spark_path(Path("/My Jobs/[1]"))
    'file:///My Jobs/[1]'
    """
    # With its scheme: the default file system of a user's Spark may be another.
    return f"file://{path.absolute()}"


def spark_pattern(path: Path) -> str:
    r"""The pattern that one path fits, for Spark's readers.

    >>> spark_pattern(Path("/My Jobs/[1]"))
    'file:///My Jobs/\\[1\\]'
    """
    return _SPECIAL.sub(r"\\\g<0>", spark_path(path))


def is_plain(path: Path) -> bool:
    """Whether nothing reads more into a path than its name.

    >>> is_plain(Path("/tmp/a_b-1.0")), is_plain(Path("/tmp/a b"))
    (True, False)
    """
    return _NOT_PLAIN.search(str(path)) is None


def is_searched(path: Path) -> bool:
    """Whether Hadoop searches for a path, as for a pattern, and meets a colon in it,
    where its search fails.

    >>> [is_searched(Path(each)) for each in ("/a:b", "/[1]", "/a:b/[1]")]
    [False, False, True]
    """
    return ":" in str(path) and _SPECIAL.search(str(path)) is not None


def is_entry(path: Path) -> bool:
    """Whether a class path can name a jar as it is, without a link or a copy.

    >>> is_entry(Path("/a b.jar")), is_entry(Path("/a:b.jar"))
    (True, False)
    """
    return os.pathsep not in str(path) and not _is_misread(path)


def _is_misread(path: Path) -> bool:
    # Java encodes each half of such a character by itself.
    return max(str(path)) > _LAST_OF_BASIC_PLANE


class Links:
    """Entries of a class path and of ``PYTHONPATH``: a path with a colon is given by a
    link to it, a jar below a folder named by an emoji or the like by a copy.

    Parameters
    ----------
    folder
        Where the links are made: a private folder whose path has no colon.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entry(self, path: Path) -> str:
        """A path of the same file, or of its copy, that a JVM reads as it is."""
        # No link to it: Java follows links.
        needs_copy = path.is_file() and _is_misread(path)
        if os.pathsep not in str(path) and not needs_copy:
            return str(path)
        digest = hashlib.sha256(bytes(path.absolute())).hexdigest()[:_LINK_CHARS]
        link = self._folder / f"link-{digest}"
        if needs_copy and not link.exists():
            shutil.copyfile(path, link)
        elif not needs_copy and not link.is_symlink():
            link.symlink_to(path.absolute())
        return str(link)
