#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# find, grep, sed, awk, cut, uniq, join, diff over a tree of files.
. "$top_srcdir/tests/programs/same.sh"

needs find findutils
needs grep grep
needs sed sed
needs diff diffutils
counts="find grep sed awk diff xargs"

job()
{
	for d in $(seq 30); do
		mkdir -p "t/$d/deep"
		seq "$d" 3000 >"t/$d/deep/a"
		seq 3000 | sed 's/.*/line & of many/' >"t/$d/b"
	done
	find t -type f -name '[ab]' -size +1k | sort | tail -n 2
	grep -rEc '(^|[^0-9])([0-9])\2' t | sort | cksum
	grep -cP '(?<=line )1(?=\d+1 )' t/1/b
	find t -type f -print0 | xargs -0 sed -n 's/\(1\)\(2*\)3/\2\1/p' | cksum
	awk '{ n[$1 % 101]++ } END { for (i = 0; i < 101; i++) s = s n[i] ","; print s }' t/*/deep/a
	diff t/1/deep/a t/30/deep/a | head -n 5
	cut -d' ' -f2 t/3/b | sort -r | uniq -c | sed -n 1,2p
	seq 2000 | sort >one && seq 1000 3000 | sort >two && join one two | wc -l
}

same_result "$@"
