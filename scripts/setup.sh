#!/bin/sh
# Makes .venv with this project and the extras named in $1, at the pinned versions.
set -eu
python="${PYTHON:-python3}"

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "arroyo_nb needs Python 3.11 or newer; $python is $("$python" -V 2>&1)." >&2
    echo "Name another one: make PYTHON=python3.12 ..." >&2
    exit 1
}

# Debian keeps venv in a package of its own.
"$python" -c 'import ensurepip, venv' 2>/dev/null || {
    echo "installing python3-venv"
    { apt-get update -qq && apt-get install -yqq python3-venv; } >/dev/null 2>&1 || {
        echo "Python's venv module is missing and apt-get could not install it." >&2
        exit 1
    }
}

[ -x .venv/bin/python ] || "$python" -m venv .venv
echo "installing arroyo_nb[$1] into .venv (the first time takes 1 to 5 minutes)"
.venv/bin/python scripts/install.py --disable-pip-version-check --progress-bar off \
    --constraint constraints.txt --editable ".[$1]"
