#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Without addresses (RLIMIT_AS) or mappings (vm.max_map_count) a program gets
# ENOMEM, loses nothing, is counted, and is served when there are some.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

scarce=${top_builddir:?}/tests/hostile/scarce
most=$(cat /proc/sys/vm/max_map_count)

counted() {
	"$KF_CLI" --dir="$WORK/stats" --format=json stat -a -n scarce |
		sed -n 's/.*"failed": \([0-9]*\).*/\1/p'
}

# try ENGINE ARG...
try() {
	export KONFISCATOR_ENGINE="$1"
	shift
	rm -f "$WORK"/stats/*
	status=0
	nr=$(run_under "$scarce" "$@" 2>"$WORK/err") || status=$?
	equal "$KONFISCATOR_ENGINE: scarce $*: status: $(cat "$WORK/err")" \
		0 "$status"
	equal "$KONFISCATOR_ENGINE: scarce $*: requests that failed" "$nr" \
		"$(counted)"
	[ "$1" = mappings ] || [ "$nr" -ge 8 ] ||
		fail "$KONFISCATOR_ENGINE: scarce $*: only $nr requests failed"
}

# The engine system fails where the C library fails.
engines_but system >"$WORK/engines"

# Where something else than this test sees to it that there is little.
if [ -n "${KF_LITTLE_MEMORY:-}" ]; then
	while read -r engine; do
		try "$engine" memory
	done <"$WORK/engines"
	exit 0
fi

while read -r engine; do
	for more in 0 300000 5000000; do
		try "$engine" addresses "$more"
	done
	if [ "$most" -le 100000 ]; then
		try "$engine" mappings
	fi
done <"$WORK/engines"
