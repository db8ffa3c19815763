# SPDX-License-Identifier: LGPL-2.1-or-later
# From the --help of konfiscator or konfiscator_exporter make a line for each
# command and each name of an option: the name, its argument or "-", and the
# description, with tabs between. The build inserts this program into the
# completions between single quotes.

function put(    i)
{
	for (i = 1; i <= names; i++)
		print name[i] "\t" argument "\t" text
	names = 0
}

function begin(line,    at)
{
	put()
	sub(/^ +/, "", line)
	at = match(line, /  +/)
	text = at ? substr(line, at + RLENGTH) : ""
	return at ? substr(line, 1, at - 1) : line
}

/^[^ ]/ || /^$/ { put(); commands = /^Commands:/; next }

commands {
	name[1] = begin($0)
	argument = "-"
	names = 1
	next
}

/^  (    )?-/ {
	left = begin($0)
	argument = "-"
	at = index(left, "=")
	if (at) {
		argument = substr(left, at + 1)
		left = substr(left, 1, at - 1)
	}
	names = split(left, name, /, /)
	if (name[1] ~ /^--\[no-\]/) {
		sub(/\[no-\]/, "", name[1])
		name[2] = "--no-" substr(name[1], 3)
		names = 2
	}
	next
}

names && /^                    / {
	sub(/^ +/, "")
	text = text (text == "" ? "" : " ") $0
}

END { put() }
