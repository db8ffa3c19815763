# SPDX-License-Identifier: LGPL-2.1-or-later
# Reads `readelf -nW`, writes a line for each stapsdt note: provider, name,
# "guarded" or "bare" (whether it has a semaphore), arguments, their places.
/Provider: / { provider = $NF }
/^ *Name: / && provider != "" { name = $2 }
/^ *Location: / { bare = $NF ~ /^0x0*$/ ? "bare" : "guarded" }
/^ *Arguments:/ && provider != "" {
	sub(/^ *Arguments: */, "")
	n = split($0, place, / +/)
	print provider, name, bare, n ($0 == "" ? "" : " ") $0
	provider = ""
}
