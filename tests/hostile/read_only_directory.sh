#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A read-only stats directory hurts nobody.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
workdir
bury_usual_dirs
bury "$KONFISCATOR_DIR"

no_file
same_result
