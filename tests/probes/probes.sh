# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of the probes share; follows tests/lib.sh.
#
#   need_probes		skip where the library was built without probes
#   generate MODE ...	run the generator, on konfiscator.d or what follows
#   c_names KIND	their names in C, kf_probe_ left out: of all, or of the
#			guarded or bare ones
#   notes LIBRARY	its notes by notes.awk, "provider name guarded|bare n
#			places..."; fails where there are none

need_probes() {
	grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
		skip "the library was built with --disable-probes"
}

generate() {
	kf_mode=$1
	shift
	[ $# -gt 0 ] || set -- "$top_srcdir/probes/konfiscator.d"
	awk -v mode="$kf_mode" -v library=/usr/lib/libkonfiscator.so \
		-v version=0 -f "$top_srcdir/probes/generate.awk" "$@"
}

c_names() {
	generate names | awk -v kind="$1" '
		kind == "all" || $3 == kind {
			print ($1 == "konfiscator" ? "" : $1 "_") $2
		}'
}

notes() {
	readelf -nW "$1" 2>/dev/null |
		awk -f "$top_srcdir/tests/probes/notes.awk"
}
