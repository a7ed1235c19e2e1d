#!/bin/sh
# Sees to it that the browser tests have a Chromium; without one they are skipped.
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium for the browser tests"
    { apt-get update -qq && apt-get install -yqq --no-install-recommends chromium; } \
        >/dev/null 2>&1 && exit 0
fi
echo "no chromium and no way to install it here: the browser tests are skipped"
