#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Mixed work in rounds, while samples and recordings are switched on and off:
# what is in RAM after a round stays the same within 5 %, no block is lost, and
# the counters add up. SOAK_S seconds, 10 unless set; make soak takes longer.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

run_under_exec "${top_builddir:?}/tests/threads/soak" "${SOAK_S:-10}" \
	>"$WORK/out" 2>"$WORK/err" &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"

ctl() {
	"$KF_CLI" --dir="$WORK/stats" -q ctl "$pid" "$@" >"$WORK/told" 2>&1
}

# Files of children, that nobody else removes.
remove_others() {
	for f in "$WORK"/stats/soak.*; do
		case $f in
		*/soak."$pid".*) ;;
		*) rm -f "$f" ;;
		esac
	done
}

orders=0
while kill -0 "$pid" 2>/dev/null; do
	for order in sample=64K "record=$WORK/recording" record= sample=0; do
		! ctl "$order" || orders=$((orders + 1))
		sleep 0.3
	done
	rm -f "$WORK"/recording*
	remove_others
done
status=0
wait "$pid" || status=$?
equal "status: $(cat "$WORK/err")" 0 "$status"
[ "$orders" -ge 4 ] || fail "only $orders orders were carried out: $(cat "$WORK/told")"
read -r early late lost rounds <"$WORK/out"
echo "$rounds rounds, $orders orders: $early bytes in RAM, later $late; $lost blocks more"
[ "$late" -le $((early + early / 20)) ] ||
	fail "in RAM were $early bytes at first, $late at the end"
[ "${lost#-}" -le 10 ] || fail "$lost blocks are live that should not be"
