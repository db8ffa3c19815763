#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# No source calls a function that banned.txt forbids in its directory; banned.py
# looks.
. "$top_srcdir/tests/lint/tree.sh"

command -v "${PYTHON3:-python3}" >/dev/null || skip "python3 is missing"
tree_files | "${PYTHON3:-python3}" "$top_srcdir/tests/lint/banned.py"
