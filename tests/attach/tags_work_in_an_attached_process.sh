#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The tags of a program, whose functions are not there when it starts, are there
# once it is attached, and do no harm when it is detached: what was allocated
# under a tag since is billed, also after a second attach.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
needs jq jq
workdir

cat >"$WORK/tagged.c" <<'EOF'
#include <konfiscator.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void load(void)
{
	KONF_TAG_SCOPE("load");

	kept = malloc(1000);
}

int main(void)
{
	char c;

	konf_tag_push("all");
	while (read(0, &c, 1) == 1 && c != 'e') {
		load();
		if (write(1, "ok\n", 3) != 3)
			return 1;
	}
	konf_tag_pop();
	return 0;
}
EOF
compile -O1 -I"$top_srcdir/include" -o "$WORK/tagged" "$WORK/tagged.c"
worker_bin=$WORK/tagged

# ask N: N blocks under the tag
ask() {
	kf_left=$1
	while [ "$kf_left" -gt 0 ]; do
		kf_left=$((kf_left - 1))
		printf x >&3
		read -r answer <&4 || fail "the program is gone"
	done
}

billed() {
	"$KF_CLI" tags --format=json -p "$worker" >"$WORK/tags" 2>"$WORK/err" ||
		fail "tags: $(cat "$WORK/err")"
	jq '[.. | objects | .scope_load? | objects | .nBlocksLive] | add' \
		"$WORK/tags"
}

worker ""
ask 3
for blocks in 10 5; do
	"$KF_CLI" attach -q "$worker" || fail "attach failed"
	ask "$blocks"
	equal "blocks" "$blocks" "$(billed)"
	"$KF_CLI" detach -q "$worker" || fail "detach failed"
	ask 3
done
leave
