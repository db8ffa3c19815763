#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# SystemTap parses every script and the tapset, finds every probe that they name
# in the library, and agrees with every type. That needs no kernel: a build tree
# with the few facts that it asks for is made up.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
workdir
need_probes
: "${STAP:=stap}"
[ "$STAP" != none ] || STAP=stap
need "$STAP"

tree=$WORK/tree
mkdir -p "$tree/include/config" "$WORK/tapset"
for fact in MODULES 64BIT TRACEPOINTS UPROBES UPROBE_EVENTS \
	ARCH_SUPPORTS_UPROBES HAVE_SYSCALL_TRACEPOINTS; do
	echo "CONFIG_$fact=y"
done >"$tree/.config"
echo 6.1.0 >"$tree/include/config/kernel.release"
printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\n' >"$tree/Makefile"
for symbol in uprobe_register uprobe_unregister task_work_add; do
	printf '0x00000000\t%s\tvmlinux\tEXPORT_SYMBOL_GPL\n' "$symbol" \
		>>"$tree/Module.symvers"
	printf 'ffffffff81000000 T %s\n' "$symbol" >>"$tree/System.map"
done

# resolve WHAT ARG...: the second pass of stap succeeds
resolve() {
	what=$1
	shift
	if ! "$STAP" -p2 -r "$tree" "$@" >"$WORK/out" 2>"$WORK/err"; then
		cat "$WORK/out" "$WORK/err"
		fail "stap refuses $what"
	fi
}

resolve "a script of no probe" -e 'probe begin { exit() }'
tapset() {
	awk -v mode=tapset -v library="$1" \
		-f "$top_srcdir/probes/generate.awk" \
		"$top_srcdir/probes/konfiscator.d" >"$2/konfiscator.stp"
}

mkdir "$WORK/other"
tapset "$KF_LIB" "$WORK/tapset"
tapset /no/such/libkonfiscator.so "$WORK/other"
for script in "$top_srcdir"/scripts/stap/*.stp; do
	resolve "${script##*/}" -I "$WORK/tapset" "$script" "$KF_LIB"
	if grep -q '^WARNING' "$WORK/err"; then
		fail "stap says of ${script##*/}: $(cat "$WORK/err")"
	fi
	resolve "${script##*/} for one process" -I "$WORK/tapset" "$script" \
		"$KF_LIB" $$
done

generate names | while read -r provider name _ _ arguments; do
	printf 'probe %s.%s { println(name' "$provider" "$name"
	for argument in $arguments; do
		printf ', %s' "$argument"
	done
	echo ') }'
done | sed 's/println(/printdln(" ", /' >"$WORK/all.stp"
resolve "the tapset" -I "$WORK/tapset" "$WORK/all.stp"
resolve "the tapset for another library" -I "$WORK/other" "$WORK/all.stp" \
	"$KF_LIB"
resolve "the tapset, with an argument of the script's own" -I "$WORK/tapset" \
	"$WORK/all.stp" 23
if "$STAP" -p2 -r "$tree" -I "$WORK/tapset" \
	-e 'probe konfiscator.no_such { }' >/dev/null 2>&1; then
	fail "stap accepts a probe that is not declared"
fi

# The article's script with our path: its marks are here.
sed "s,/usr/lib64/,$KF_LIB," "$top_srcdir/tests/scripts/article.stp" \
	>"$WORK/article.stp"
resolve "the article's script" "$WORK/article.stp"

# What bears none of the marks of the C library's malloc is told so.
glibc=$top_srcdir/scripts/glibc/glibc-malloc.stp
resolve "${glibc##*/} without a mark" "$glibc" "$KF_LIB"
grep -q '^begin(-1)' "$WORK/out" || fail "${glibc##*/} would say nothing"
compile -o "$WORK/marks" "$top_srcdir/tests/scripts/marks.c"
resolve "${glibc##*/}" "$glibc" "$WORK/marks"
equal "places that it finds" 12 "$(sed -n \
	's/^process("[^"]*").statement(\([^)]*\))?.*/\1/p' "$WORK/out" |
	sort -u | wc -l | tr -d ' ')"
if grep -q '^begin(-1)' "$WORK/out"; then
	fail "${glibc##*/} would say that there are none"
fi
