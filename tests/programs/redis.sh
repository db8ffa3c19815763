#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# redis-server: a benchmark, known keys, a save in a forked child while it
# serves, a restart from what was saved.
. "$top_srcdir/tests/programs/same.sh"

needs redis-server redis-server
needs redis-benchmark redis-tools
counts="redis-server redis-benchmark redis-cli"

cli()
{
	redis-cli -s ./s "$@"
}

start()
{
	redis-server --port 0 --unixsocket ./s --save '' --appendonly no \
		--daemonize no --logfile "$1" >/dev/null 2>&1 &
	server=$!
	for _ in $(seq 300); do
		[ "$(cli ping 2>/dev/null)" != PONG ] || return 0
		sleep 0.1
	done
	cat "$1"
	exit 1
}

job()
{
	start log1
	trap 'kill $server 2>/dev/null' EXIT
	redis-benchmark -s ./s -q -n 4000 -c 20 -d 300 -r 1000 \
		-t set,get,lpush,lrange_100,sadd,zadd >/dev/null
	echo "benchmark $?"
	cli flushall
	awk 'BEGIN { for (i = 0; i < 5000; i++) {
		printf "SET key:%d %0*d\n", i, i % 700 + 1, i
		printf "RPUSH list:%d a%d b%d\n", i % 50, i, i
		printf "HSET hash:%d f%d %d\n", i % 20, i, i } }' |
		cli >replies
	cksum <replies
	cli bgsave
	redis-benchmark -s ./s -q -n 2000 -t incr >/dev/null
	for _ in $(seq 300); do
		cli info persistence | grep -q rdb_bgsave_in_progress:0 && break
		sleep 0.1
	done
	cli info persistence | grep -E 'rdb_last_bgsave_status'
	cli shutdown nosave
	wait "$server"
	echo "server $?"
	start log2
	cli dbsize
	cli hgetall hash:7 | sort | cksum
	cli lrange list:49 -3 -1
	cli get key:4999 | cksum
	cli memory doctor >/dev/null
	cli shutdown nosave
	wait "$server"
	echo "server $?"
}

same_result "$@"
