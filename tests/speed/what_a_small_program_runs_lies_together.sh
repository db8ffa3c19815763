#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Of the library's functions that a small program runs a twentieth at most, by
# bytes, lies outside of one window of 64 KiB, and of the pages of what only the
# start runs: the rest is not mapped then, and nor is the latter. Of a program
# that allocates nothing two pages are mapped. Of the constants none is mapped,
# nor of the C library's for its sake; of its variables that begin with a value
# one page is written, and of the stats file's texts, 16 KiB, nothing is mapped.
# Where this fails `make layout` mends the code.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs valgrind valgrind
needs nm binutils
workdir

[ -f "${top_builddir:?}/src/layout.ld" ] ||
	skip "the linker shows no script to lay the library out by"
case " ${KF_CFLAGS--O2} " in
*' -O2 '* | *' -O3 '*) ;;
*) skip "built without -O2, but with $KF_CFLAGS" ;;
esac

valgrind_reads "$top_builddir/bench/programs/simple" 1 16 150
"${PYTHON3:?}" "$top_srcdir/bench/layout.py" --beyond \
	--build "$top_builddir" --library "$KF_PRELOAD" >"$WORK/told" ||
	fail "layout.py ended with $?"
read -r ran beyond <"$WORK/told"
echo "$ran bytes run, $beyond of them elsewhere"
[ "$ran" -gt 10000 ] || fail "no more than $ran bytes are seen to run"
[ $((beyond * 20)) -le "$ran" ] || fail "$beyond of $ran bytes lie far off"

# What only the start runs goes, and most of what is run later once, so no tracer
# has a breakpoint there.
nm -S "$KF_PRELOAD" >"$WORK/symbols"
nm -D --defined-only "$KF_PRELOAD" | cut -d ' ' -f 1 >"$WORK/watched"
readelf -nW "$KF_PRELOAD" | sed -n 's/.*Location: 0x\([0-9a-f]*\),.*/\1/p' \
	>>"$WORK/watched"
[ "$(wc -l <"$WORK/watched")" -gt 100 ] || fail "hardly a probe is found"
"$PYTHON3" - "$WORK" <<'END' || fail "what the start runs is not right"
import pathlib
import sys

work = pathlib.Path(sys.argv[1])
fields = [line.split() for line in
          (work / "symbols").read_text().splitlines() if line[0] != " "]
at = {field[-1]: int(field[0], 16) for field in fields}
start, ended = at["kf_self_start"], at["kf_self_ended"]
later, behind = at["kf_self_later"], at["kf_self_behind"]
run = sum(int(field[1], 16) for field in fields if len(field) == 4 and
          field[2] in "tT" and start <= int(field[0], 16) < ended)
print("%d bytes are run at start only" % run)
inside = [place for place in (work / "watched").read_text().split()
          if start <= int(place, 16) < ended or
          later <= int(place, 16) < behind]
sys.exit(run < 8192 or behind - later < 8192 or bool(inside))
END

# SystemTap finds the library's first page by where its code is in the file.
readelf -lW "$KF_PRELOAD" |
	awk '$1 == "LOAD" && / R E / { print $2, $3 }' >"$WORK/code"
read -r in_file in_memory <"$WORK/code"
equal "where the code is in the file" "$((in_memory))" "$((in_file))"

# resident FLAGS [OBJECT]: of the largest part of a file that is mapped so
resident() {
	awk -v flags="$1" -v object="${2:-libkonfiscator}" '
	/^[0-9a-f]+-/ { part = $2 == flags && index($0, object); next }
	part && $1 == "Size:" { larger = $2 > size; if (larger) size = $2 }
	part && $1 == "Rss:" && larger { rss = $2 }
	END { print rss }' "$WORK/maps"
}

# code: KiB of it that are mapped, whatever parts the kernel has it in
code() {
	awk '
	/^[0-9a-f]+-/ { part = $2 == "r-xp" && index($0, "libkonfiscator") }
	part && $1 == "Rss:" { rss += $2 }
	END { print rss }' "$WORK/maps"
}

# rests OPTION...: so little is mapped with these options of env
rests() {
	run_under env "$@" cat /proc/self/smaps >"$WORK/maps" ||
		fail "cat ended with $?"
	[ "$(code)" -le 60 ] || fail "$*: $(code) KiB of the code are mapped"
	equal "KiB of constants that are mapped" 0 "$(resident r--p)"
	[ "$(resident rw-p)" -le 4 ] ||
		fail "$*: $(resident rw-p) KiB of the variables are mapped"
	[ "$(awk '/^[0-9a-f]+-/ { file = $2 == "rw-s" }
	file && $1 == "Rss:" { rss += $2 } END { print rss }' \
		"$WORK/maps")" -le 20 ] || fail "$*: the stats file is mapped whole"
}

rests KONFISCATOR_DIR="$WORK/stats"
rests -u KONFISCATOR_DIR XDG_RUNTIME_DIR="$WORK/tmp"

# Of threads too, who have slots and rings of events of their own.
run_under env KONFISCATOR_DIR="$WORK/stats" "$PYTHON3" -c '
import threading
def work():
    for i in range(2000):
        bytes(700 + i % 90)
for i in range(9):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(open("/proc/self/smaps").read())' >"$WORK/maps" ||
	fail "threads: python3 ended with $?"
equal "KiB of constants that are mapped, with threads" 0 "$(resident r--p)"
[ "$(code)" -le 60 ] || fail "$(code) KiB of the code are mapped, with threads"

"$top_builddir/tests/speed/smaps" >"$WORK/maps"
alone=$(resident r--p /libc.so)
run_under "$top_builddir/tests/speed/smaps" >"$WORK/maps"
[ "$(code)" -le 8 ] ||
	fail "$(code) KiB of the code are mapped where nothing is allocated"
equal "KiB of the C library's constants" "${alone:?}" "$(resident r--p /libc.so)"
