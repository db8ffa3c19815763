#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ready.sh LIBRARY SCRIPT: prints bpftrace's script for this library, so that
# "bpftrace SCRIPT [PID [ARG...]]" needs no path. konfiscator trace uses the
# script as it is, which gets the path as its first argument.
name=${2##*/}
# shellcheck disable=SC2016 # bpftrace's dollars
sed -e 's|^usdt:\$1:|usdt:'"$1"':|' \
	-e 's|\$2|$1|g; s|\$3|$2|g; s|\$4|$3|g' \
	-e '/^ \*	LIBRARY	/d' \
	-e 's|^\( \* Usage: bpftrace .*\) LIBRARY PID \[\(.*\)\]$|\1 [PID [\2]]|' \
	-e 's|^\( \* Usage: bpftrace .*\) LIBRARY PID$|\1 [PID]|' \
	-e 's|^\( \*	PID	the process, 0\) for all|\1 (the default) for all|' \
	-e 's|print(@bytes_held);|print(@bytes_held, 20);|' \
	-e 's|printf("ready\\n");|printf("ready: programs under the library are seen; konfiscator trace '"${name%.bt}"' -- PROGRAM starts one\\n");|' \
	"$2"
