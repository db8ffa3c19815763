#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm refuses what it does not understand with one line that names it and status
# 2; what the machine cannot do is told with 77; its help is complete.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
vm=$top_srcdir/tests/vm/vm

# refused STATUS REGEX ARG...
refused() {
	wanted=$1
	regex=$2
	shift 2
	status=0
	sh "$vm" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
	equal "status of vm $*" "$wanted" "$status"
	grep -q "$regex" "$WORK/err" ||
		fail "vm $* said '$(cat "$WORK/err")', not '$regex'"
	[ ! -s "$WORK/out" ] || fail "vm $* printed to its output"
}

refused 2 'no command$'
refused 2 "no command is called 'boot'" boot trixie
refused 2 "no option is called '-x'" -x
refused 2 'option -t needs a value' -t
refused 2 "'soon' is no number" -t soon root trixie
refused 2 "'/no/such' is not a directory" -o /no/such root trixie
refused 2 "no root is called 'sarge': trixie or forky" root sarge
refused 2 'root takes one name' root trixie forky
refused 2 "no root is called ''" shell
refused 2 "no program: '--' and a program" run trixie ls
refused 2 "no program" native forky --
refused 2 'job needs a script' job trixie
refused 2 "'/no/such' is not a file" job trixie /no/such
refused 2 'clean takes no argument' clean trixie

# Nothing that has to be fetched is there for it.
XDG_CACHE_HOME=$WORK/cache
KF_VM_MIRROR=http://127.0.0.1:9/debian
export XDG_CACHE_HOME KF_VM_MIRROR
refused 77 . root trixie
equal "what is left of a root that cannot be had, but its lock and log" "" \
	"$(find "$WORK/cache" -mindepth 2 ! -name "trixie.l*" 2>/dev/null)"
refused 77 . run forky -- true

sh "$vm" -h >"$WORK/help"
for word in root run job native shell clean; do
	grep -q "^	vm $word" "$WORK/help" ||
		fail "vm -h does not tell of '$word'"
done
