#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# On x86-64 malloc of up to 1 KiB takes at most 18 instructions and free at most
# 26, from the call through the PLT to the return, counted one by one, with
# counting and probes. Under a tag it is 51 and 48; to enter and leave one takes
# 62 and 34. Clang loads a size for a probe, and an owner to compare it, where gcc
# names the memory: its free may take 28. What is printed beside has no bound here.
# shellcheck source=tests/speed/steps.sh
. "${top_srcdir:?}/tests/speed/steps.sh"
unset KONFISCATOR_SAMPLE # samples are taken, as by default

count steps "$KF_PRELOAD"
printf '%-8s %6s %6s %9s %7s\n' call bytes median mean largest
cat "$WORK/steps"
by=gcc
case $(compile --version) in
*clang*) by=clang ;;
esac
awk -v by="$by" '
BEGIN {
	bound["malloc"] = 18
	bound["free"] = by == "clang" ? 28 : 26
	bound["malloc tagged"] = 51; bound["free tagged"] = 48
	bound["tag_push"] = bound["tag_push tagged"] = 62
	bound["tag_pop"] = bound["tag_pop tagged"] = 34
}
{ what = $1 ($6 ? " " $6 : "") }
!(what in bound) || $2 > 1024 { next }
{ looked_at++ }
$3 > bound[what] {
	printf "FAIL: %s of %d bytes takes %d instructions, not %d\n",
		what, $2, $3, bound[what]
	wrong = 1
}
END {
	# Four sizes of malloc, their frees, and those of two other calls; two
	# sizes under a tag and the frees of three; two of push and pop each.
	if (looked_at != 19)
		print "FAIL: there are " looked_at + 0 " measures to hold"
	exit wrong || looked_at != 19
}' "$WORK/steps"
