#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The probe pool_grow fires for each pool that is added, with its bytes and
# those of the request.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

cat >"$WORK/grow.bt" <<'END'
BEGIN { printf("ready\n"); }
usdt:$1:konfiscator:pool_grow
/arg2 == 1000/
{
	printf("%d added for %d\n", arg1, arg2);
}
END
traced "$WORK/grow.bt" under_traced KONFISCATOR_ENGINE=tlsf \
	KONFISCATOR_TLSF_INITIAL=64K KONFISCATOR_TLSF_ADDITIONAL=100 \
	"$top_builddir/tests/tlsf/pools" grow
equal "pools" "100 added for 1000
200 added for 1000
400 added for 1000
800 added for 1000
1600 added for 1000" "$(grep added "$WORK/trace")"
