"""``python -m arroyo_nb.cli``: the command, where it is not on the path."""

import sys

from arroyo_nb.cli import main

sys.exit(main())
