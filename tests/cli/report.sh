# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of konfiscator report share; sourced after cli.sh.
#
#   mkrecording FILE ...  see tests/fixture/mkrecording.c
#   report ARG...         konfiscator report ARG..., its notes too
#   figure NAME FILE      a figure of the summary's JSON

mkrecording() {
	"$top_builddir/tests/fixture/mkrecording" "$@"
}

report() {
	"$KF_CLI" report "$@" 2>&1
}

figure() {
	kf_name=$1
	shift
	"$KF_CLI" --format=json report "$@" |
		sed -n "s/^ *\"$kf_name\": \(.*[^,]\),\{0,1\}$/\1/p"
}
