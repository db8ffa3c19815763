#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A forked child samples its own blocks, with whole stacks, and goes on with
# what its parent had live; what other children have is not in its table.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
needs prlimit util-linux
workdir
# shellcheck source=tests/sample/cases.sh
. "$top_srcdir/tests/sample/cases.sh"

# samples TABLE BYTES: of blocks of so many usable bytes
samples() {
	awk -v size="$2" '$1 == size { n += $4 } END { print n + 0 }' "$1"
}

# each: leave the table of each process in $WORK/N, of the children's in
# $WORK/child.N
each() {
	rm -f "$WORK"/table.* "$WORK"/child.*
	children=0
	for file in "$WORK/stats/cases".*; do
		table "$file" >"$WORK/table"
		if [ "$(samples "$WORK/table" 180224)" -ge 100 ]; then
			mv "$WORK/table" "$WORK/table.parent"
		else
			children=$((children + 1))
			mv "$WORK/table" "$WORK/child.$children"
		fi
	done
}

cases forking
each
equal "children with a table" 8 "$children"
sites "$WORK/table.parent"
echo "bytes 221184 23" >>"$WORK/truth"
sed -i '/^bytes 180224 /d; s/^bytes 102400 .*/bytes 102400 12/' "$WORK/truth"
for table in "$WORK"/child.*; do
	sites "$table"
	# what it has from its parent is in entries of its own
	equal "blocks of its parent and of itself" "11 1" "$(awk '
		$1 == 102400 { n[$6] += $4 }
		END { print n[64] + 0, n[0] + 0 }' "$table")"
	equal "entries that grew after the fork" 0 "$(awk '
		$6 == 64 && $1 == 221184' "$table" | wc -l | tr -d " ")"
done
equal "stacks that were given up" 0 "$(word stacks_failed)"

# Where files may not be so long, ages are left out, and nothing else.
cat >"$WORK/limited.py" <<'EOF'
import os
kept = [bytearray(5000) for i in range(50)]
if os.fork():
    os.wait()
else:
    kept += [bytearray(5000) for i in range(50)]
EOF
rm -f "$WORK/stats"/*
prlimit --fsize=$((140 << 20)) env LD_PRELOAD="$KF_PRELOAD" \
	KONFISCATOR_DIR="$WORK/stats" KONFISCATOR_SAMPLE=1 KONFISCATOR_KEEP=1 \
	"$PYTHON3" "$WORK/limited.py" || fail "the limited program failed"
equal "files of two limited processes" 2 \
	"$(find "$WORK/stats" -name 'python3*' | wc -l | tr -d ' ')"
