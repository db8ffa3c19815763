#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# tclsh: lists, dictionaries, regular expressions.
. "$top_srcdir/tests/programs/same.sh"

needs tclsh tcl
counts="tclsh"

job()
{
	cat >s.tcl <<'END'
set d [dict create]
for {set i 0} {$i < 50000} {incr i} { dict lappend d [expr {$i % 499}] "v$i" }
puts "[dict size $d] [llength [dict get $d 7]]"
set all [lsort [concat {*}[dict values $d]]]
puts "[lindex $all 0] [lindex $all end] [string length [join $all ,]]"
puts [regexp -all {v1\d*1} [join $all " "]]
END
	tclsh s.tcl
}

same_result "$@"
