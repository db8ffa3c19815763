#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# While one thread takes back what the heaps of the others do not use, blocks stay
# whole, in forked children too.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

run_under "${top_builddir:?}/tests/threads/traders" "${TRADERS_S:-5}" ||
	fail "traders ended with status $?"
KONFISCATOR_NAME=traders KONFISCATOR_SAMPLE=64K \
	run_under "${top_builddir:?}/tests/threads/traders" 3 ||
	fail "traders with samples ended with status $?"
