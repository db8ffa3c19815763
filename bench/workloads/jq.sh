#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# jq: read a document, regroup it, print it.
#
# Usage: jq.sh prepare | regroup
# needs: jq jq
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

if [ "$1" = prepare ]; then
	awk 'BEGIN {
	print "["
	for (i = 0; i < 25000; i++)
		printf "%s{\"id\": %d, \"name\": \"n%d\", \"tags\": [\"t%d\", %d],%s\n",
			i ? "," : "", i, i * 7, i % 10, i % 17,
			"\"in\": {\"x\": 1.5, \"y\": null}}"
	print "]" }' >"$BENCH_DATA/document.json"
	exit
fi
exec jq 'group_by(.tags[1]) | map({(.[0].tags[1] | tostring):
	map(select(.id % 3 == 0) | .name + .tags[0])}) | add' \
	"$BENCH_DATA/document.json" >out
