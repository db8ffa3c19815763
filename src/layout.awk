# SPDX-License-Identifier: LGPL-2.1-or-later
# The linker's own script, with the order of a list: what programs of all kinds
# run stands first in .text, the tables that few write to stand first in .bss;
# so that what a small program touches lies in few pages.
#
#	awk -f layout.awk layout.list SCRIPT
#
# A line of the list is a name of a section, as -ffunction-sections and
# -fdata-sections give them, or a file, FILE(.bss) for that part of it, or "page"
# where one begins in .bss; what stands between "start" and "ended" has pages of
# its own, which the library gives back (src/sys/self.h). SCRIPT is what the
# linker prints with --verbose.
NR == FNR {
	if ($0 ~ /^\.text\./)
		text = text "    *(" $1 " " $1 ".*)\n"
	else if ($0 ~ /^\.bss\./)
		bss = bss "    *(" $1 ")\n"
	else if ($0 ~ /\(\.bss\)$/)
		bss = bss "    " $1 "\n"
	else if ($0 == "page")
		bss = bss "    . = ALIGN(4096);\n"
	else if ($0 == "start" || $0 == "ended")
		text = text "    . = ALIGN(4096);\n    kf_self_" $0 " = .;\n"
	else if ($0 ~ /^[^#]/)
		text = text "    " $1 "(.text)\n"
	next
}
/^=====/ { inside = !inside; next }
!inside { next }
/^ *\.text +:/ {
	want = text
	print "  .fini : { KEEP (*(SORT_NONE(.fini))) }"
}
{ print }
/^ *\.bss +:/ { want = bss }
/\{/ && want { printf "%s", want; want = ""; done++ }
END { exit done == 2 ? 0 : 1 }
