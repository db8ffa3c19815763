#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bash: strings, arrays, subshells, pipes, here-documents, a trap.
. "$top_srcdir/tests/programs/same.sh"

needs bash bash
counts="bash seq"

job()
{
	bash --norc -c '
	declare -A square
	for i in {1..2000}; do
		square[$i]=$((i * i))
		text+="$i,"
	done
	echo "${#square[@]} ${square[1999]} ${#text}"
	echo "${text//1/one}" | cksum
	trap "echo trapped; exit 0" EXIT
	for i in {1..50}; do
		out=$(seq "$i" | (read -r first; cat; echo "$first") | wc -l)
		sum=$((sum + out))
	done
	mapfile -t lines < <(seq 5000)
	cat <<-END
	$sum ${#lines[@]} ${lines[4999]}
	END'
}

same_result "$@"
