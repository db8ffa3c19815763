#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stands in for all unit tests where configure did not find their library.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
skip "no unit test was built: the Check library (package check) is missing"
