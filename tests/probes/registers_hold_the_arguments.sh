#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# When a probe of otel_memory fires, the registers that OpenTelemetry's profiler
# reads have what the probe's note says, and that is what the program got and
# what such a block stands for; errno is kept: in the library as it was built and
# in one without optimization. REGISTERS="COMPILER..." is for all of these, each
# with -O0 and -O2: make check-registers.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/probes/probes.sh
. "$top_srcdir/tests/probes/probes.sh"
need_probes
needs gdb gdb
workdir

case $(uname -m) in
x86_64) first=rdi second=rsi third=rdx ;;
aarch64) first=x0 second=x1 third=x2 ;;
*) skip "the registers of $(uname -m) are not known here" ;;
esac

cat >"$WORK/program.c" <<'END'
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define NR 23

int main(void)
{
	void *block[NR];

	for (int i = 0; i < NR; i++) {
		errno = 100 + i;
		block[i] = malloc(100000 + 10000 * i);
		if (errno != 100 + i)
			return 1;
		printf("made %lu %zu\n", (unsigned long)block[i],
		       malloc_usable_size(block[i]));
	}
	for (int i = 0; i < NR; i++) {
		errno = i;
		free(block[i]);
		if (errno != i)
			return 1;
	}
	puts("kept");
	return 0;
}
END
compile -O1 -g -o "$WORK/program" "$WORK/program.c" ||
	fail "the program cannot be built"

mkdir "$WORK/src"
generate source >"$WORK/src/probes.c"

# What a note says of its probe, and the registers beside it.
cat >"$WORK/commands" <<END
set confirm off
set pagination off
set startup-with-shell off
set environment KONFISCATOR_SAMPLE 128K
set environment KONFISCATOR_SAMPLE_SEED 23
set environment LD_PRELOAD $WORK/lib.so
tbreak main
run
break -probe-stap otel_memory:alloc
commands
silent
printf "alloc %lu %lu %lu is %lu %lu %lu\n", \$_probe_arg0, \$_probe_arg1, \$_probe_arg2, \$$first, \$$second, \$$third
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "free %lu is %lu\n", \$_probe_arg0, \$$first
continue
end
continue
END

# build COMPILER LEVEL: the library, as it is built, but for the two
build() {
	layers=$(sed -n 's,^src/\([a-z]*\).*,\1,p' \
		"$top_srcdir/tests/lint/layers.txt" | grep -vx 'reader\|cli')
	(
		cd "$top_builddir"
		for layer in $layers; do
			find "$top_srcdir/src/$layer" -name '*.c'
		done >"$WORK/sources"
		echo "$WORK/src/probes.c" >>"$WORK/sources"
		rm -rf "$WORK/objects"
		mkdir "$WORK/objects"
		# shellcheck disable=SC2016 # of the shell inside
		xargs -P 2 -n 4 sh -c 'objects=$1 compiler=$2 flags=$3
			shift 3
			for source in "$@"; do
				name=$(echo "${source##*/src/}" | tr / -)
				eval "$compiler $flags" -c \
					-o "\"$objects/$name.o\"" \
					"\"$source\"" || exit 255
			done' build "$WORK/objects" "$1" \
			"$(cat tests/probes/library-flags) -w $2" <"$WORK/sources"
	) || fail "$1 $2 cannot build the library"
	unwinder=$(sed -n 's/^KF_UNWINDER = *//p' "$top_builddir/Makefile")
	# shellcheck disable=SC2086 # CC may be a list
	$1 -shared -pthread -o "$WORK/built.so" "$WORK/objects"/*.o \
		-Wl,--version-script="$top_srcdir/src/abi/konfiscator.map" \
		-ldl $unwinder || fail "$1 $2 cannot link the library"
}

# look WHAT LIBRARY
look() {
	ln -sf "$2" "$WORK/lib.so"
	gdb -batch -nx -x "$WORK/commands" "$WORK/program" \
		>"$WORK/out" 2>&1 </dev/null || true
	if grep -q 'ptrace.*not permitted' "$WORK/out"; then
		skip "gdb may trace nothing here"
	fi
	grep -qx kept "$WORK/out" || {
		cat "$WORK/out"
		fail "$1: the program did not come to its end, errno kept"
	}
	awk -v mean=131072 '
	function off(p) {
		weight = size[p] / (1 - exp(-size[p] / mean))
		return told[p] != size[p] || weighs[p] < weight - 2 ||
			weighs[p] > weight + 2 || !gone[p]
	}
	$1 == "made" { size[$2] = $3 }
	$1 == "alloc" && ($2 != $6 || $3 != $7 || $4 != $8) { wrong = $0 }
	$1 == "free" && $2 != $4 { wrong = $0 }
	$1 == "alloc" { told[$6] = $7; weighs[$6] = $8 }
	$1 == "free" { gone[$4] = 1 }
	END {
		for (p in told) {
			if (!(p in size))
				continue
			nr++
			if (off(p))
				wrong = "block " p " of " size[p]
		}
		if (wrong || nr < 12)
			print wrong, nr + 0, "blocks"
		exit wrong || nr < 12
	}' "$WORK/out" || {
		cat "$WORK/out"
		fail "$1: notes, registers and blocks differ"
	}
	echo "$1: $(grep -c ^alloc "$WORK/out") samples"
}

look "as built" "$KF_LIB"
if [ -z "${REGISTERS-}" ]; then
	build "${CC:-cc}" -O0
	look "-O0" "$WORK/built.so"
fi
for compiler in ${REGISTERS-}; do
	for level in -O0 -O2; do
		build "$compiler" "$level"
		look "$compiler $level" "$WORK/built.so"
	done
done
