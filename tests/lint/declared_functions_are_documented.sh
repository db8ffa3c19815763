#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every function that a header declares has its kernel-doc; kernel_doc.py says
# what belongs to it.
. "$top_srcdir/tests/lint/tree.sh"

command -v "${PYTHON3:-python3}" >/dev/null || skip "python3 is missing"
exec "${PYTHON3:-python3}" "$top_srcdir/tests/lint/kernel_doc.py"
