# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# Each CPython from 3.8 on that is here, once for each version: python3,
# python3.8 to python3.14, and those of $PYTHONS. To be sourced after lib.sh.
#
#   pythons              print "VERSION EXECUTABLE" for each

pythons() {
	for pythons_name in python3 python3.8 python3.9 python3.10 python3.11 \
		python3.12 python3.13 python3.14 ${PYTHONS-}; do
		# The executable, not a script that looks for it.
		"$pythons_name" -c 'import sys
if sys.version_info >= (3, 8):
    print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || :
	done | awk '!seen[$1]++'
}
