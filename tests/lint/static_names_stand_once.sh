#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# gdb and perf show a static function by its name alone: no two files of the
# library and the programs have one of the same name, and in the programs the
# name says its module or object.
. "$top_srcdir/tests/lint/tree.sh"

command -v "${PYTHON3:-python3}" >/dev/null || skip "python3 is missing"
exec "${PYTHON3:-python3}" "$top_srcdir/tests/lint/static_names.py"
