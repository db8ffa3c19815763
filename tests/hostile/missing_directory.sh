#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A stats directory that is not there is not missed, and not made.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
bury_usual_dirs
KONFISCATOR_DIR=$WORK/missing

no_file
same_result
[ ! -e "$WORK/missing" ] || fail "the directory was made"
