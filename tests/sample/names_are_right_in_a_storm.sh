#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While eight threads load and close objects, several of them at the same
# addresses, and timers interrupt them anywhere, no block is under a wrong name:
# the calls that made it are known by its size, and compared frame by frame. A
# name may be missing where other threads change the mappings at that moment.
# KF_STORM_SAMPLES blocks, each of which is a sample.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
samples=${KF_STORM_SAMPLES:-20000}
seed=${KF_STORM_SEED:-1}

cd "$WORK"
cat >plug.c <<'END2'
#include <stdlib.h>

#define JOIN(a, b) a##_##b
#define NAME(letter, kind) JOIN(letter, kind)
#define CALL(kind)                                                            \
	__attribute__((noinline, noclone)) void NAME(LETTER, kind)(           \
		size_t size, void (*back)(void *), void *arg)                 \
	{                                                                     \
		void *volatile block = NULL;                                  \
                                                                              \
		if (back)                                                     \
			back(arg);                                            \
		else                                                          \
			block = malloc(size);                                 \
		free(block);                                                  \
	}

CALL(one)
CALL(two)

void (*const functions[])(size_t, void (*)(void *), void *) = {
	NAME(LETTER, one), NAME(LETTER, two)};
END2
for letter in A B C D E F G H; do
	gcc -w -O2 -fomit-frame-pointer -Wl,--build-id=sha1 -shared -fPIC \
		-DLETTER=$letter -o $letter.so plug.c || fail "no object"
done

KONFISCATOR_SAMPLE=1K run_under env KONFISCATOR_SAMPLE_STACKS=100000 \
	timeout "${KF_STORM_TIMEOUT:-300}" "$top_builddir/tests/sample/plugs" \
	"$samples" "$seed" ./[A-H].so >said || fail "status $?, seed $seed"
cat said
shared=$(sed -n 's/.* shared //p' said)
[ "${shared:-0}" -ge 2 ] || fail "no two objects were at the same address"
mv stats/plugs.* file
"$KF_CLI" report --raw --no-fold -o out.json file 2>err || fail "report: $(cat err)"
cat err
"$PYTHON3" "$top_srcdir/tests/sample/check_plugs.py" out.json 1000 ||
	fail "seed $seed"
