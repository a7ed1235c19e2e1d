#!/bin/sh
# Sees to it that the lookup tests have a redis-server; without one they are skipped.
command -v redis-server >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing redis-server for the lookup tests"
    { apt-get update -qq && apt-get install -yqq --no-install-recommends redis-server; } \
        >/dev/null 2>&1 && exit 0
fi
echo "no redis-server and no way to install it here: its lookup tests are skipped"
