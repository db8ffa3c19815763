#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# At every guarded probe the frame of its function stands, so that a tracer that
# walks frame pointers finds who called it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
need objdump
workdir

objdump -d --no-show-raw-insn "$KF_LIB" | awk '
	function judge()
	{
		if (name != "")
			print name, framed ? "framed" : "bare"
		name = ""
	}
	/^[0-9a-f]+ <.*>:$/ {
		judge()
		if (match($0, /kf_probe_fire_[a-z0-9_]*/))
			name = substr($0, RSTART + 14, RLENGTH - 14)
		framed = 0
		next
	}
	name == "" { next }
	$2 == "nop" || $2 ~ /^nop/ { judge() }
	/mov +%rsp,%rbp/ || /mov[ \t]+x29, sp/ { framed = 1 }
	END { judge() }' | sort -u >"$WORK/found"
c_names guarded | sed 's/$/ framed/' | sort \
	>"$WORK/wanted"
diff "$WORK/wanted" "$WORK/found" ||
	fail "wanted (left) a frame at each probe, found (right)"
