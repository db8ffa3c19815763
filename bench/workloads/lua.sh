#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lua: tables, closures and strings.
#
# Usage: lua.sh prepare | tables
# needs: lua5.4 lua5.4
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0
exec lua5.4 - <<'END'
local rows = {}
for i = 1, 100000 do
	rows[i] = { id = i, name = "name" .. i, next = rows[i - 1] }
end
table.sort(rows, function(a, b) return a.name < b.name end)
local function fold(i, list)
	if i == 0 then return list end
	return fold(i - 1, { i, list, function() return i end })
end
local sum = 0
for _ = 1, 200 do
	local list = fold(1500, nil)
	while list do sum, list = sum + list[3](), list[2] end
end
local parts = {}
for i = 1, 100000 do
	parts[i] = ("%d:%s"):format(i, ("x"):rep(i % 50))
end
assert(sum == 200 * 1500 * 1501 // 2 and #table.concat(parts, " ") > 100000)
END
