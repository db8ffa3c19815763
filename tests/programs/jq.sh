#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# jq: build a large document, query it, sort it.
. "$top_srcdir/tests/programs/same.sh"

needs jq jq
counts="jq"

job()
{
	jq -n '[range(20000) | {id: ., name: "name \(. * 7919 % 20011)", tags: [range(. % 5)]}]' >in
	jq -c 'group_by(.tags | length) | map({n: length, first: .[0].name})' in
	jq -r 'sort_by(.name) | .[:3][] | [.id, .name] | @csv' in
	jq '[.[] | select(.name | test("77$"))] | length' in
	echo '{"a": [1, 2' | jq . 2>&1
	echo "status $?"
}

same_result "$@"
