# SPDX-License-Identifier: LGPL-2.1-or-later
# The linker's own script, with the order of a list: what programs of all kinds
# run stands first in .text, the tables that few write to stand first in .bss;
# so that what a small program touches lies in few pages.
#
#	awk -f layout.awk layout.list SCRIPT
#
# A line of the list is a name of a section, as -ffunction-sections and
# -fdata-sections give them, or a file, FILE(.bss) for that part of it, or "page"
# where one begins in .bss. What follows "start", of so many pages, is given back
# once the start is over (src/sys/self.h) and ends where 64 KiB of the file do, which
# the kernel may keep together, and then maps at once. Behind it lies what follows
# "first", "later" and "seldom", each in pages of its own, and all else behind these
# 64 KiB. What ld.so reads once lies among the constants, which are given back, not
# among the names. SCRIPT is what the linker prints with --verbose.
NR == FNR {
	if ($1 ~ /^(start|first|later|seldom)$/) {
		part = $1
		pages += $2
	} else if ($0 ~ /^\.text\./)
		text[part] = text[part] "    *(" $1 " " $1 ".*)\n"
	else if ($0 ~ /^\.bss\./)
		bss = bss "    *(" $1 ")\n"
	else if ($0 ~ /\(\.bss\)$/)
		bss = bss "    " $1 "\n"
	else if ($0 == "page")
		bss = bss "    . = ALIGN(4096);\n"
	else if ($0 ~ /^[^#]/)
		text[part] = text[part] "    " $1 "(.text)\n"
	next
}
/^=====/ { inside = !inside; next }
!inside { next }
/^ *\.rela\.(dyn|plt) +:/ { aside = 1 }
aside {
	once = once $0 "\n"
	aside = !/\}$/
	next
}
/^ *\.rodata +:/ { printf "%s", once }
/^ *\.init +:/ {
	free = 15 - (pages + 15) % 16
	print "  .text.start : {"
	print "    . = ALIGN(4096);\n    kf_self_start = .;"
	# Not before the section: SystemTap takes it that code lies in the file
	# as far in as in memory.
	printf "    . = ALIGN(65536) + %d * 4096;\n", free
	printf "%s", text["start"]
	print "    . = ALIGN(65536);"
	print "    kf_self_ended = .;"
	print "  }"
}
/^ *\.text +:/ {
	want = text["first"] "    . = ALIGN(4096);\n    kf_self_later = .;\n" \
		text["later"] "    . = ALIGN(4096);\n    kf_self_seldom = .;\n" \
		text["seldom"] "    . = ALIGN(4096);\n    kf_self_last = .;\n" \
		"    . = ALIGN(65536);\n    kf_self_behind = .;\n"
	print "  .fini : { KEEP (*(SORT_NONE(.fini))) }"
}
{ print }
/^ *\.bss +:/ { want = bss }
/\{/ && want { printf "%s", want; want = ""; done++ }
END { exit done == 2 ? 0 : 1 }
