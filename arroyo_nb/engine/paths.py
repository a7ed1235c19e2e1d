"""How a path is written for Spark and for the JVM.

A folder may have any name. Python's functions take a path as it is; others read more
into it, each in its own way:

- Hadoop's ``Path`` takes a text literally behind its scheme: a percent-encoded address,
  as :meth:`pathlib.Path.as_uri` makes, names another file.
- Spark's readers take ``{}[]*?\\`` for a pattern, in which a backslash escapes.
- A class path and several of the JVM's flags are cut at each colon, some of Spark's and
  log4j's settings at each comma, and more of them expand ``%`` and ``$``. Nothing
  escapes there: a path that is not plain is given by a link that is (:class:`Links`).
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_SPECIAL = re.compile(r"[\\{}\[\]*?]")
"""What Hadoop's patterns give a meaning to."""

_NOT_PLAIN = re.compile(r"[^\w/.+@=-]", re.ASCII)

_LINK_CHARS = 16


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


class Links:
    """Plain names for paths that are not.

    Parameters
    ----------
    folder
        Where the links are made: a private folder with a plain name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def to(self, path: Path) -> Path:
        """A path of the same file, which need not be there yet.

        Only its folder is a link: what makes the file does not replace the link by it.
        """
        if is_plain(path):
            return path
        if not is_plain(Path(path.name)):
            return self._link(path)
        return self._link(path.parent) / path.name

    def _link(self, path: Path) -> Path:
        digest = hashlib.sha256(bytes(path.absolute())).hexdigest()[:_LINK_CHARS]
        link = self._folder / f"link-{digest}"
        if not link.is_symlink():
            link.symlink_to(path.absolute())
        return link
