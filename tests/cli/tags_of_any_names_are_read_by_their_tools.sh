#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Whatever bytes the name of a tag or a thread has, the snapshot is JSON, the
# graph is a graph, and the terminal sees no control bytes.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
needs jq jq
needs dot graphviz

cd "$WORK"
long=$(printf '%0200d' 7)
tab=$(printf 'line one\nand\ttwo\033[31m')
latin=$(printf 'caf\351 \377\376 \303')
turned=$(printf 'a\342\200\256b')
set -- "say \"hello\"" "back\\slash\\n" "$tab" "$latin" "$turned" "$long" \
	"<b>&amp;" "}]};{" "%s%n" "naïve" "a/b" "\\" "\"" \
	"$(printf '\377')" '\xff' '\x5cxff'

i=1
for name in "$@"; do
	i=$((i + 1))
	printf '%s\0' "tag=$i:1:$name" >>args
	printf '%s\0' "tag.$i.allocated=$((i * 10000))" >>args
done
xargs -0 "$top_builddir/tests/fixture/mkstats" odd "comm=od\"d" \
	"tag=1:0:thread \"$latin\"" <args
nr=$#

"$KF_CLI" tags --format=json odd >odd.json
equal "scopes" "$nr" "$(jq '[.[] | objects | .[] | objects | .nestedScopes |
	keys[]] | length' odd.json)"
for name in "say \"hello\"" "back\\slash\\n" "$tab" "naïve" "\\" "\""; do
	jq -e --arg n "scope_$name" '[.. | objects | has($n)] | any' odd.json \
		>/dev/null || fail "the snapshot lacks '$name'"
done
equal "the snapshot, read again" "$(jq -S . odd.json)" \
	"$("$KF_CLI" tags --format=json odd.json | jq -S .)"
"$KF_CLI" tags --view=dot odd >odd.dot
dot -Tplain odd.dot >plain || fail "dot does not take the graph"
equal "nodes" $((nr + 1)) "$(grep -c '^node' plain)"
"$KF_CLI" tags -o odd.svg odd
for view in "--full" "--view=flat" "--format=json" "--view=dot"; do
	"$KF_CLI" tags "$view" odd >shown
	if LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" shown; then
		fail "$view prints control bytes"
	fi
	iconv -f utf-8 -t utf-8 shown >/dev/null || fail "$view is no UTF-8"
done
