"""How Sphinx makes the pages: ``make docs`` writes them to build/docs.

Before Sphinx reads anything, the pages of ``reference/`` that are generated are written
anew by ``reference_pages.py``, and the notebooks are copied to ``tutorials/``.
"""

import shutil
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference_pages  # noqa: E402

project = "arroyo_nb"
author = "the maintainers of arroyo_nb"
release = metadata.version("arroyo-nb")

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "monitoring", "**/.ipynb_checkpoints"]
html_theme = "furo"
html_title = "arroyo_nb"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The saved outputs are what the tests compare: nothing is run again for the pages.
nb_execution_mode = "off"
nb_render_error_lexer = "text"

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

reference_pages.write(HERE / "reference")
TUTORIALS = HERE / "tutorials"
TUTORIALS.mkdir(exist_ok=True)
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    shutil.copy2(notebook, TUTORIALS)
