#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The protocols between threads hold in every order of their steps, and each
# model finds the defects that it knows how to plant.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs spin spin
workdir

mkdir "$WORK/models"
sh "$top_srcdir/tests/model/check.sh" "$WORK/models"
