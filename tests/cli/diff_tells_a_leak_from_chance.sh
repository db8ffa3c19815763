#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A leak planted in python, by an extension that is built here, is the first
# line of the report and of the difference to the same program without it; two
# runs without it, with other samples, differ in nothing; --fail-over judges by
# that.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"
needs gcc build-essential

cd "$WORK"
includes=$("$PYTHON3" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$includes/Python.h" ] ||
	skip "Python.h is missing (package python3-dev)"
cat >planted.c <<'END'
#include <Python.h>
#include <stdlib.h>

static __attribute__((noinline)) void planted_leak(void)
{
	char *volatile p = malloc(4096);

	(void)p;
}

static PyObject *work(PyObject *self, PyObject *args)
{
	int leak;

	if (!PyArg_ParseTuple(args, "i", &leak))
		return NULL;
	for (int i = 0; i < 10000; i++) {
		if (leak)
			planted_leak();
		free(malloc(100));
	}
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"work", work, METH_VARARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "planted", "", -1,
				    methods};

PyMODINIT_FUNC PyInit_planted(void)
{
	return PyModule_Create(&module);
}
END
gcc -g -O1 -fno-omit-frame-pointer -fPIC -shared -I"$includes" -o planted.so \
	planted.c || fail "the extension cannot be built"

cat >work.py <<'END'
import planted, sys

planted.work(int(sys.argv[1]))
END

# recorded PROFILE LEAK
recorded() {
	expect 0 cli record -o "$1" --sample 64K -- \
		"$PYTHON3" work.py "$2"
}
export PYTHONHASHSEED=0
recorded leak 1
KONFISCATOR_SAMPLE_SEED=1 recorded good 0
KONFISCATOR_SAMPLE_SEED=2 recorded again 0

"$KF_CLI" --format=csv report leak 2>/dev/null | sed -n 2p >first
grep -q ",planted_leak," first || fail "the first line is $(cat first)"
"$KF_CLI" --format=csv diff good leak | sed -n 2p >first
grep -q ",\"*planted_leak" first || fail "the difference's first line is $(cat first)"
"$KF_CLI" --format=csv diff --by=function good leak | sed -n 2p >first
grep -q ",planted_leak$" first || fail "by function it is $(cat first)"
expect 1 "$KF_CLI" diff --fail-over 8M good leak
says "over the limit of 8.00Mi"
expect 0 "$KF_CLI" diff --fail-over 8M good again
expect 1 "$KF_CLI" diff --fail-over=20% good leak
says "more in the stacks' own peaks than before, over the limit of "
expect 0 "$KF_CLI" diff --fail-over=5% good again
expect 2 "$KF_CLI" diff --fail-over=120% good again
says "'120%' is not a number of bytes, with K, M, G or T, or 1% to 100%"
"$KF_CLI" --format=csv diff good again 2>/dev/null | sed 1d >none
[ ! -s none ] || fail "two good runs differ: $(cat none)"
expect 0 "$KF_CLI" diff --fail-over 8M good good
equal "lines of no difference" 1 "$(wc -l <"$WORK/out" | tr -d ' ')"
says "compared the stacks' own peaks, as both programs have ended; --metric=live"
expect 0 "$KF_CLI" diff good good
says "--metric=peaks compares the stacks' own peaks"
expect 0 "$KF_CLI" diff --metric=alloc good good
says "nothing differs by more than chance; more samples"

# a program that frees everything at its end has a peak all the same
for run in low high; do
	expect 0 cli record -o $run --sample 64K -- "$PYTHON3" -c "
import sys
held = [bytes(100000) for i in range($((${#run} * 400 - 1100)))]
del held"
done
expect 1 "$KF_CLI" diff --fail-over=8M low high
says "compared the stacks' own peaks"
says "more in the stacks' own peaks than before, over the limit of 8.00Mi"
expect 0 "$KF_CLI" diff --fail-over=8M high low
expect 0 "$KF_CLI" diff --metric=live --fail-over=8M low high
says "compared live memory"

# what was freed again is no difference in what lives, but in what was allocated
for run in few many; do
	expect 0 cli record -o $run --sample 16K -- "$PYTHON3" -c "
for i in range($((${#run} * 1000 - 2900))):
    bytes(100000)"
done
expect 1 "$KF_CLI" diff --metric=alloc --fail-over=50M few many
says "more allocated than before, over the limit of 50.0Mi"
expect 1 "$KF_CLI" diff --metric=count --fail-over=900 few many
says "more blocks allocated than before, over the limit of 900"
prints CHANGE
expect 0 "$KF_CLI" diff --metric=peaks --fail-over=8M few many
expect 0 "$KF_CLI" diff --fail-over=8M few many
expect 2 "$KF_CLI" diff --metric=most few many
says "diff: --metric: 'most' is not one of live, peak, peaks, alloc, count, blocks"
