#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is done wrong to a guarded block is told once, with three stacks, and the
# program goes on to its end, unless errors are to end it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs prlimit util-linux
workdir

guarded=${top_builddir:?}/tests/guarded

KONFISCATOR_SAMPLE=4K KONFISCATOR_GUARD_SLOTS=16 KONFISCATOR_GUARD_RATE=0
export KONFISCATOR_SAMPLE KONFISCATOR_GUARD_SLOTS KONFISCATOR_GUARD_RATE

# under STATUS LAST PROGRAM ARG...: run, check the end and the first report
under() {
	want=$1 last=$2
	shift 2
	status=0
	env LD_PRELOAD="$KF_PRELOAD" prlimit --core=0 "$guarded/$1" "$2" "$3" \
		"$4" "$5" >"$WORK/out" 2>"$WORK/err" || status=$?
	equal "$*: status" "$want" "$status"
	equal "$*: end" "$last" "$(tail -n 1 "$WORK/out")"
	sed 's/0x[0-9a-f]*/P/g; s/thread [0-9]*/thread N/
		s/#[0-9]* P.*/#/' "$WORK/err" | uniq >"$WORK/lines"
}

# first LINE...: the lines of the first report, without their numbers
first() {
	equal "report" "$*" "$(awk '
		NR > 1 && !/^konfiscator:  / { exit }
		{ print }' "$WORK/lines")"
}

stacks='konfiscator:     #
konfiscator:   allocated by thread N:
konfiscator:     #'
freed="$stacks
konfiscator:   freed by thread N:
konfiscator:     #"

under 0 '2000 done' faulty overflow-read 64 2000 1
first "konfiscator: overflow: read of P, 0 bytes behind the block P of 64 bytes, thread N
konfiscator:   done by thread N:
$stacks"
under 0 '2000 done' faulty overflow-write 64 2000 20
line='^konfiscator: overflow: write to P, 19 bytes behind the block P of 64 bytes'
for when in 'done by' 'found when it was freed by'; do
	grep -A 1 "$line" "$WORK/lines" |
		grep -q "^konfiscator:   $when thread N:" ||
		fail "no overflow was $when: $(cat "$WORK/lines")"
done
# Bytes up to the alignment have a pattern, which the free looks at.
under 0 '2000 done' faulty overflow-write 20 2000 1
first "konfiscator: overflow: write to P, 0 bytes behind the block P of 20 bytes, thread N
konfiscator:   found when it was freed by thread N:
$stacks"
under 0 '2000 done' faulty underflow-read 64 2000 1
first "konfiscator: underflow: read of P, 1 bytes before the block P of 64 bytes, thread N
konfiscator:   done by thread N:
$stacks"
under 0 '2000 done' faulty after-free-read 64 2000 1
first "konfiscator: use after free: read of P, 0 bytes inside the block P of 64 bytes, thread N
konfiscator:   done by thread N:
$freed"
under 0 '2000 done' faulty after-free-write 64 2000 1
grep -q '^konfiscator: use after free: read of' "$WORK/err" ||
	fail "no use after free: $(cat "$WORK/err")"
under 0 'done' frees double - - -
first "konfiscator: double free at P, 0 bytes inside the block P of 49 bytes, thread N
konfiscator:   done by thread N:
$freed"
equal "reports of two double frees" 1 "$(grep -c 'double free at' "$WORK/err")"
under 0 'done' frees inside - - -
first "konfiscator: invalid free at P, 16 bytes inside the block P of 49 bytes, thread N
konfiscator:   done by thread N:
$stacks"
under 0 'done' frees realloc - - -
equal "realloc of a freed block" "realloc gave 0 errno 1" \
	"$(head -n 1 "$WORK/out")"

# The stacks name the program's functions: the caller of malloc among them.
under 0 '2000 done' faulty after-free-read 64 2000 1
for what in 'done' allocated freed; do
	case $what in
	'done') function=reads ;;
	allocated) function=made ;;
	*) function=unmade ;;
	esac
	at=$(awk -v what="$what" '$2 == what { getline; print $4; exit }' \
		"$WORK/err")
	"${PYTHON3:?}" - "$guarded/faulty" "${at##*+}" $function <<'END' ||
import subprocess, sys
end, best = int(sys.argv[2], 16), (0, "")
for line in subprocess.run(["nm", sys.argv[1]], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.splitlines():
    f = line.split()
    if len(f) == 3 and f[1] in "tT" and int(f[0], 16) < end:
        best = max(best, (int(f[0], 16), f[2]))
sys.exit(best[1] != sys.argv[3])
END
		fail "$what at $at, which is not in $function()"
done

# Each kind is counted, and is an event.
"$KF_CLI" stat --format=json "$WORK"/stats/faulty.* >"$WORK/json"
for counter in guarded guard_overflows guard_underflows guard_uses_after_free; do
	grep -q "\"$counter\": *[1-9]" "$WORK/json" ||
		fail "$counter counts nothing"
done
"$KF_CLI" events "$(printf '%s\n' "$WORK"/stats/faulty.* | tail -n 1)" |
	grep -q guard_fault || fail "no event guard_fault"

# Errors that are to end the program do.
KONFISCATOR_ON_ERROR=abort
export KONFISCATOR_ON_ERROR
under 134 '' faulty after-free-read 64 2000 1
under 134 '' frees double - - -
equal "last line" "konfiscator: the program ends, as on_error says" \
	"$(tail -n 1 "$WORK/err")"
