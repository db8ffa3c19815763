#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A program loads libpython, runs code and unloads it, several times, each time at
# another address, while other threads allocate: it does not crash, and stacks have
# the calls of the interpreter that is there.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs python3 python3
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"

tried=
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 \
	python3.13 python3.14 ${PYTHONS-}; do
	command -v "$python" >/dev/null || continue
	"$python" - >"$WORK/found" 2>/dev/null <<'EOF' || continue
import ctypes, os, sys, sysconfig
name = sysconfig.get_config_var("INSTSONAME")
path = os.path.join(sysconfig.get_config_var("LIBDIR"), name)
path = path if os.path.exists(path) else name
ctypes.CDLL(path).Py_GetVersion
print(path)
print(sys.base_prefix)
EOF
	library=$(sed -n 1p found)
	case " $tried " in *" $library "*) continue ;; esac
	rm -rf "$WORK/stats"/* lines
	mkfifo lines
	run_under_exec env KONFISCATOR_SAMPLE=16K PYTHONMALLOC=malloc \
		PYTHONHOME="$(sed -n 2p found)" \
		"$top_builddir/tests/sample/embeds" "$library" 4 <lines >said &
	pid=$!
	exec 4>lines
	at_exit "kill $pid 2>/dev/null"
	wait_for 120 grep -q '^ready' said || fail "$library did not begin"
	expect 0 cli report --format=csv "$pid"
	exec 4>&-
	wait "$pid" || fail "$library: it ended with status $?"
	sed -n 2p out | grep -q ',embedded3 (<string>:4),' ||
		fail "$library: report begins with $(sed -n 2p out)"
	tried="$tried $library"
done
[ -n "$tried" ] || skip "no python has a libpython: apt-get install libpython3.11"
echo "tried: $tried"
