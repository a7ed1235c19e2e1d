#!/bin/sh
# Sees to it that the tests of feeds and lookups have their servers; the tests of one
# that is not there are skipped.
missing=""
for server in redis-server mosquitto nats-server; do
    command -v "$server" >/dev/null 2>&1 || [ -x "/usr/sbin/$server" ] \
        || missing="$missing $server"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$missing for the tests of feeds"
    # Each test starts its own: those that a package would start are not wanted.
    { apt-get update -qq && RUNLEVEL=1 apt-get install -yqq --no-install-recommends $missing; } \
        >/dev/null 2>&1 && exit 0
fi
echo "no$missing and no way to install them here: their tests are skipped"
