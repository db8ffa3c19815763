#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sanitizers.sh SOURCE address|thread TEST...: builds SOURCE with a sanitizer in
# ./sanitized/KIND, and runs what it can tell something of.
#
# address: AddressSanitizer and UndefinedBehaviorSanitizer in what reads files
# and requests: the reader, the command line, the exporter, unit tests and the
# kept inputs of the fuzzers. The preloaded library itself is built without.
#
# thread: ThreadSanitizer in all that the library is made of. The unit tests link
# all below the names of malloc; threads.sh beside has programs with threads
# and these names too.
set -eu

source=$1
kind=$2
shift 2
[ "$#" -gt 0 ] || {
	echo "sanitizers.sh: there are no tests" >&2
	exit 2
}
case $kind in
address)
	areas=${AREAS:-unit fuzz cli exporter}
	options=--enable-sanitizers
	flags='-g -O1'
	;;
thread)
	areas=unit
	options=
	flags='-g -O1 -fsanitize=thread -DKF_THREAD_SANITIZER'
	;;
*)
	echo "sanitizers.sh: '$kind' is neither address nor thread" >&2
	exit 2
	;;
esac
mkdir -p "sanitized/$kind"
cd "sanitized/$kind"
link=
if [ "$kind" = thread ]; then
	# shellcheck disable=SC2086 # CC may be a list
	${CC:-cc} -O1 -fsanitize=thread -c "$source/tests/builds/tsan.c" \
		-o leave.o
	link="-Wl,$PWD/leave.o"
	for call in pthread_setspecific kf_heap_detach kf_vm_map kf_vm_reserve \
		kf_vm_unmap kf_vm_drop kf_vm_resize kf_vm_move; do
		link="$link -Wl,--wrap=$call"
	done
	KF_TSAN_LINK=$link
	export KF_TSAN_LINK
	# gcc says of each fence that it does not look at it.
	# shellcheck disable=SC2086
	${CC:-cc} -Werror -Wno-tsan -E -x c /dev/null >/dev/null 2>&1 &&
		flags="$flags -Wno-tsan"
fi
# shellcheck disable=SC2086 # a list of options, perhaps empty
[ -f Makefile ] || "$source/configure" -q CC="${CC:-cc}" $options \
	--disable-static --without-web CFLAGS="$flags" CXXFLAGS="-g -O1" \
	LDFLAGS="$link" >/dev/null

wanted=$(printf '%s\n' "$@" |
	grep -E "^tests/($(echo "$areas" | tr ' ' '|'))/" | tr '\n' ' ')
TSAN_OPTIONS="suppressions=$source/tests/builds/tsan.supp"
# Tests cut files under who writes, which the library's handler survives; ask for
# more than there is; and leave blocks behind.
TSAN_OPTIONS="$TSAN_OPTIONS die_after_fork=0 report_thread_leaks=0"
TSAN_OPTIONS="$TSAN_OPTIONS handle_sigbus=0 allocator_may_return_null=1"
TSAN_OPTIONS="$TSAN_OPTIONS second_deadlock_stack=1"
ASAN_OPTIONS=handle_sigbus=0:allocator_may_return_null=1:detect_leaks=0
# What was freed is kept for a while, which a test of memory takes for growth.
ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=4
export TSAN_OPTIONS ASAN_OPTIONS

status=0
if [ "$kind" = thread ]; then
	# The programs alone: the library cannot be linked so.
	[ -z "$wanted" ] || make -s -k -j2 check check_PROGRAMS="$wanted" \
		TESTS="$wanted" check_DATA= check_LTLIBRARIES= \
		noinst_PROGRAMS= bin_PROGRAMS= lib_LTLIBRARIES= \
		pkglib_LTLIBRARIES= || status=1
	"$source/tests/builds/threads.sh" "$source" || status=1
else
	# The sanitizer's own mappings leave other gaps each time, and a test of
	# scarce addresses less in them: the same each time, where that is allowed.
	machine=$(uname -m)
	calm=
	! setarch "$machine" -R true 2>/dev/null || calm="setarch $machine -R"
	# shellcheck disable=SC2086 # a command, or nothing
	$calm make -s -k -j2 check TESTS="$wanted" || status=1
fi
exit "$status"
