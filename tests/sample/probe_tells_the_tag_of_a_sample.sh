#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sample_alloc's tag is the number that tag_push gave the tag, 0 without one.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/scripts/trace.sh
. "$top_srcdir/tests/scripts/trace.sh"
workdir
need_tracing
copy_library

cat >"$WORK/tag.bt" <<'EOF'
BEGIN
{
	printf("ready\n");
}

usdt:$1:konfiscator:tag_push
{
	@name[arg0] = str(uptr(arg1));
}

usdt:$1:konfiscator:sample_alloc
/arg1 > 230000/
{
	@total[arg3 ? @name[arg3] : "none"] = sum(arg1);
}

END
{
	print(@total);
	clear(@total);
	clear(@name);
}
EOF

tag() {
	under_traced env KONFISCATOR_SAMPLE=1K \
		"$top_builddir/tests/sample/cases" tagged >/dev/null
}

traced "$WORK/tag.bt" tag
equal "red" $((23 * 241664)) "$(traced_total red)"
equal "blue" $((11 * 262144 + 282624)) "$(traced_total blue)"
equal "none" $((7 * 282624 + 241664 + 262144 + 282624)) "$(traced_total none)"
