#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where a script cannot be run, one line says what is missing, and the program
# is not started: the script, a tracer, the right, the kernel's part, the probes
# of the library.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

# A tracer that must not be started; PATH has nothing else.
mkdir "$WORK/bin" "$WORK/none"
printf '#!/bin/sh\ntouch "%s/traced"\n' "$WORK" >"$WORK/bin/bpftrace"
chmod 755 "$WORK/bin/bpftrace"
touch=$(command -v touch)

# refused STATUS TEXT COMMAND...: it ends so, says this in one line, runs nothing
refused() {
	kf_text=$2
	kf_status=$1
	shift 2
	expect "$kf_status" "$@"
	says "$kf_text"
	equal "lines of '$kf_text'" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
	[ ! -e "$WORK/ran" ] || fail "$kf_text: the program was started"
	[ ! -e "$WORK/traced" ] || fail "$kf_text: the tracer was started"
}

refused 2 "there is no script 'nope' in" "$KF_CLI" trace nope -- \
	"$touch" "$WORK/ran"
says "frag, glibc-malloc, heap, konfiscator,"
mkdir "$WORK/empty"
refused 2 "which has: none" env KONFISCATOR_SCRIPTS="$WORK/empty" \
	"$KF_CLI" trace nope

refused 1 "neither bpftrace nor SystemTap is installed" env PATH="$WORK/none" \
	"$KF_CLI" trace frag -- "$touch" "$WORK/ran"
refused 1 "bpftrace is not installed" env PATH="$WORK/none" \
	"$KF_CLI" trace --engine=bpftrace frag -- "$touch" "$WORK/ran"
refused 1 "stap is not installed" env PATH="$WORK/none" \
	"$KF_CLI" trace --engine=stap frag -- "$touch" "$WORK/ran"

echo 'int none;' >"$WORK/none.c"
compile -shared -fPIC -o "$WORK/libkonfiscator.so" "$WORK/none.c"
refused 1 "has no probes" env PATH="$WORK/bin" \
	KONFISCATOR_LIBRARY="$WORK/libkonfiscator.so" \
	"$KF_CLI" trace frag -- "$touch" "$WORK/ran"
echo text >"$WORK/libkonfiscator.so"
refused 1 "is not a readable ELF file" env PATH="$WORK/bin" \
	KONFISCATOR_LIBRARY="$WORK/libkonfiscator.so" \
	"$KF_CLI" trace frag

# The C library's own malloc: a process without one, and one without probes.
sleep_static() {
	printf '#include <unistd.h>\nint main(void) { return pause(); }\n' \
		>"$WORK/sleep.c"
	compile -static -o "$WORK/sleep" "$WORK/sleep.c"
	"$WORK/sleep" &
	at_exit "kill $!"
}
sleep_static
is_sleep() {
	[ "$(readlink "/proc/$!/exe")" = "$WORK/sleep" ]
}
wait_for 60 is_sleep || fail "the static program does not run"
refused 1 "does not run with the GNU C library" env PATH="$WORK/bin" \
	"$KF_CLI" trace glibc-malloc --pid $!
libc=$(sed -n '/\/libc[-.][0-9.so]*$/s,^[^/]*,,p' /proc/self/maps |
	head -n 1)
if grep -q memory_heap_new "$libc"; then
	echo "$libc has probes of its malloc"
else
	refused 1 "has no malloc probes" env PATH="$WORK/bin" \
		"$KF_CLI" trace glibc-malloc -- "$touch" "$WORK/ran"
fi

grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
	skip "the rest: the library was built with --disable-probes"
if [ "$(id -u)" != 0 ]; then
	refused 1 "bpftrace needs root" env PATH="$WORK/bin" \
		"$KF_CLI" trace frag -- "$touch" "$WORK/ran"
	exit 0
fi
if ! unshare -m true 2>/dev/null ||
	[ ! -d /sys/bus/event_source/devices/uprobe ]; then
	skip "the rest: no mount namespace of one's own, or no uprobes at all"
fi
# shellcheck disable=SC2016 # the inner shell's
refused 1 "the kernel has no uprobes" unshare -m sh -c '
	mount -t tmpfs none /sys/bus/event_source/devices &&
	exec env PATH="$1" "$2" trace frag -- "$3" "$4"' sh "$WORK/bin" \
	"$KF_CLI" "$touch" "$WORK/ran"
