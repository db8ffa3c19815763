# SPDX-License-Identifier: LGPL-2.1-or-later
# The code of a C file: comments are dropped, the insides of strings too, and
# lines keep their numbers.
{
	line = $0
	out = ""
	while (line != "") {
		if (comment) {
			end = index(line, "*/")
			if (!end)
				break
			line = substr(line, end + 2)
			comment = 0
			continue
		}
		if (!match(line, /\/\*|\/\/|"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/)) {
			out = out line
			break
		}
		what = substr(line, RSTART, 2)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		if (what == "/*")
			comment = 1
		else if (what == "//")
			line = ""
		else
			out = out "0"
	}
	print out
}
