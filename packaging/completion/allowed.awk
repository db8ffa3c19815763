# SPDX-License-Identifier: LGPL-2.1-or-later
# From the error message for the invalid value "?" of an option make a line of
# the allowed values. The build inserts this program into the completions between
# single quotes.

{
	sub(/;.*/, "")
	sub(/ or /, ", ")
	if (sub(/.*.\?. is not (one of )?/, "") ||
	    sub(/.*.\?.: expected /, "")) {
		gsub(/,/, "")
		print
	}
}
