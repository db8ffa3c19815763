#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# lua: tables, strings, closures, a full collection.
. "$top_srcdir/tests/programs/same.sh"

needs lua lua5.4
counts="lua"

job()
{
	lua -e '
	local t, parts = {}, {}
	for i = 1, 200000 do t[i % 4999] = { i, tostring(i) } end
	for i = 0, 4998 do parts[#parts + 1] = t[i][2] end
	local text = table.concat(parts, ",")
	print(#parts, #text, select(2, text:gsub("7", "seven")))
	collectgarbage()
	local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
	print(co(), co(), co())
	table.sort(parts)
	print(parts[1], parts[#parts])'
}

same_result "$@"
