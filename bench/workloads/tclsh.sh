#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tclsh: lists, dictionaries, strings.
#
# Usage: tclsh.sh prepare | lists
# needs: tclsh tcl
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0

exec tclsh <<'END'
set rows {}
for {set i 0} {$i < 150000} {incr i} {
	lappend rows [list $i "name $i" [string repeat x [expr {$i % 60}]]]
}
set by [dict create]
foreach row $rows {
	dict lappend by [expr {[lindex $row 0] % 997}] [lindex $row 1]
}
set sorted [lsort -index 1 $rows]
set out {}
dict for {key names} $by {
	lappend out [string toupper [join [lsort $names] ","]]
}
if {[llength $sorted] != 150000 || [llength $out] != 997} { exit 1 }
exit 0
END
