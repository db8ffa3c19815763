# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests that hold numbers of instructions.
# shellcheck shell=sh source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"

machine=$(uname -m)
[ "$machine" = x86_64 ] ||
	skip "the instructions are counted on x86_64, this is $machine"
case " ${KF_CFLAGS--O2} " in
*' -O2 '* | *' -O3 '*) ;;
*) skip "built without -O2, but with $KF_CFLAGS" ;;
esac
workdir

# count FILE ARGUMENT...: what tests/speed/steps prints, into $WORK/FILE
count() {
	file=$WORK/$1
	shift
	status=0
	"${top_builddir:?}/tests/speed/steps" "$@" >"$file" || status=$?
	[ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIP: //p' "$file")"
	[ "$status" -eq 0 ] || fail "steps ended with $status"
}
