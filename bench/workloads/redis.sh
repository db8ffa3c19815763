#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# redis-server: keys and structures made by a script inside it, then load by
# redis-benchmark, which is not measured, then half of the keys goes.
#
# Usage: redis.sh prepare | serve
# needs: redis-server redis-server
# needs: redis-benchmark redis-tools
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0

redis-server --port 0 --unixsocket ./s --save '' --appendonly no \
	--daemonize no --logfile log >/dev/null &
server=$!
unset LD_PRELOAD
trap 'kill "$server" 2>/dev/null || :' EXIT

cli()
{
	redis-cli -s ./s "$@"
}

tries=0
until [ "$(cli ping 2>/dev/null || :)" = PONG ]; do
	tries=$((tries + 1))
	[ "$tries" -lt 3000 ] || exit 1
	sleep 0.01
done
cli eval "for i = 1, 60000 do
	redis.call('SET', 'key:' .. i, string.rep('x', i % 500))
	redis.call('HSET', 'hash:' .. i % 2000, 'f' .. i, i)
	if i % 4 == 0 then redis.call('ZADD', 'set:' .. i % 50, i, 'm' .. i) end
	end" 0 >/dev/null
redis-benchmark -s ./s -q -n 40000 -r 40000 -d 300 -P 16 -c 20 \
	-t set,get,lpush,lpop,sadd,hset,zadd >/dev/null
cli eval "for i = 1, 60000, 2 do redis.call('DEL', 'key:' .. i) end" 0 \
	>/dev/null
cli shutdown nosave >/dev/null
trap - EXIT
wait "$server"
