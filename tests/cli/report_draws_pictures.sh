#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Pictures have the format of their suffix, a title, units and the peak; where
# gnuplot is missing one line says so, and nothing is left behind.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/report.sh"
needs gnuplot gnuplot-nox

cd "$WORK"
mkrecording rec <"$top_srcdir/tests/cli/report.script"

# drawn FILE MAGIC
drawn() {
	equal "what $1 begins with" "$2" "$(head -c ${#2} "$1" | tr -d '\0')"
	[ "$(wc -c <"$1")" -gt 2000 ] || fail "$1 is too small"
}

# holds FILE TEXT...
holds() {
	kf_file=$1
	shift
	for kf_text in "$@"; do
		grep -qF "$kf_text" "$kf_file" || fail "$kf_file lacks '$kf_text'"
	done
}

for view in timeline latency; do
	for suffix in png svg pdf; do
		report --view=$view -o "$view.$suffix" rec
	done
	drawn $view.svg "<?xml"
	drawn $view.pdf "%PDF-"
	[ "$(head -c 4 $view.png | tail -c 3)" = PNG ] || fail "$view.png is no PNG"
	holds $view.svg "time since the recording began (ns)" \
		"prog (process 4711)"
done
holds timeline.svg "memory (KiB)" "peak: 9.008 KiB at 700 ns" \
	"live: asked for and not freed" "held from the kernel"
holds latency.svg "duration of a call (ns)" "malloc: " "free: " "mean"

# what is usually drawn is the timeline
report -o usual.svg rec
cmp usual.svg timeline.svg || fail "-o alone does not draw the timeline"

# a name is text, whatever is in it
report -o "it's.svg" rec
drawn "it's.svg" "<?xml"

mkdir bin
expect 1 env PATH="$WORK/bin" "$KF_CLI" report -o none.png rec
says "install gnuplot-nox"
equal "lines on stderr" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
[ ! -e none.png ] || fail "a picture that was not drawn is there"
if ls none.png.* 2>/dev/null; then
	fail "a temporary file was left"
fi

expect 2 "$KF_CLI" report --view=top -o top.png rec
says "only --view=timeline and --view=latency can be drawn"
expect 2 "$KF_CLI" report -o top.jpg rec
says "does not end in .png"
expect 2 "$KF_CLI" report -o top.speedscope.json rec
says ".speedscope.json files are made of profiles, not of recordings"
[ ! -e top.speedscope.json ] || fail "a refused format was written"
expect 1 "$KF_CLI" report -o no/such/dir.png rec
says "No such file"
expect 1 "$KF_CLI" report -o heap.html missing
says "report: missing: No such file"
