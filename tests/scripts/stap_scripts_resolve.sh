#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
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
	if ! "$STAP" -p2 -r "$tree" "$@" >"$WORK/out" 2>&1; then
		cat "$WORK/out"
		fail "stap refuses $what"
	fi
}

resolve "a script of no probe" -e 'probe begin { exit() }'
for script in "$top_srcdir"/scripts/stap/*.stp; do
	resolve "${script##*/}" "$script" "$KF_LIB"
	resolve "${script##*/} for one process" "$script" "$KF_LIB" $$
done

awk -v mode=tapset -v library="$KF_LIB" \
	-f "$top_srcdir/probes/generate.awk" \
	"$top_srcdir/probes/konfiscator.d" >"$WORK/tapset/konfiscator.stp"
generate names | while read -r _ name _ _ arguments; do
	printf 'probe konfiscator.%s { println(name' "$name"
	for argument in $arguments; do
		printf ', %s' "$argument"
	done
	echo ') }'
done | sed 's/println(/printdln(" ", /' >"$WORK/all.stp"
resolve "the tapset" -I "$WORK/tapset" "$WORK/all.stp"
if "$STAP" -p2 -r "$tree" -I "$WORK/tapset" \
	-e 'probe konfiscator.no_such { }' >/dev/null 2>&1; then
	fail "stap accepts a probe that is not declared"
fi
