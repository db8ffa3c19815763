# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Fills in a manual page: the lines @ENVIRONMENT@, @RUN_OPTIONS@, @CONTROLS@,
# @COUNTERS@, @EVENTS@ and @ENGINES@ become mdoc lists from conf.def, control.def,
# stats.def, box.def and engines.def.
#
#	awk -f tables.awk conf.def control.def stats.def box.def engines.def page.in

# The arguments of a macro call on one line, into @part; returns how many.
function split_call(line, part,    n, i, c, text, quoted) {
	sub(/^[A-Z_]+\(/, "", line)
	sub(/\)[ \t]*$/, "", line)
	n = 0
	text = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c == "\\" && quoted) {
			text = text substr(line, ++i, 1)
		} else if (c == "\"") {
			quoted = !quoted
		} else if (c == "," && !quoted) {
			part[++n] = trim(text)
			text = ""
		} else {
			text = text c
		}
	}
	part[++n] = trim(text)
	return n
}

function trim(s) {
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

# Text that mdoc takes as it is, and a sentence of it.
function plain(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	sub(/^[.']/, "\\\\\\&&", s)
	return s
}

# One sentence, in lines that an editor shows whole.
function sentence(s,    word, n, i, line, out) {
	n = split(plain(toupper(substr(s, 1, 1)) substr(s, 2)) ".", word, " ")
	out = ""
	line = word[1]
	for (i = 2; i <= n; i++) {
		if (length(line) + length(word[i]) > 78) {
			out = out line "\n"
			line = word[i]
		} else {
			line = line " " word[i]
		}
	}
	return out line
}

function dashes(s) {
	gsub(/_/, "-", s)
	return s
}

function fallback(kind, value) {
	if (kind == "STRING" || kind == "ENGINE" || value == "0")
		return ""
	return "The default is " value ".\n"
}

function take_option(part) {
	environment = environment ".It Ev KONFISCATOR_" toupper(part[1]) \
		" Ns = Ns Ar " part[4] "\n" sentence(part[5]) "\n" \
		fallback(part[2], part[3])
	run_options = run_options ".It Fl -" dashes(part[1]) " Ns = Ns Ar " \
		part[4] "\n" sentence(part[5]) "\n"
}

function take_counter(part,    metric) {
	metric = part[4]
	if (metric != "" && part[5] != "")
		metric = metric "{" part[5] "}"
	gsub(/"/, "\\(dq", metric)
	counters = counters ".It " part[1] " (" tolower(part[2]) \
		(part[3] == "BYTES" ? ", bytes" : "") ")\n" \
		sentence(part[6]) "\n"
	if (metric != "")
		counters = counters "Metric " metric ".\n"
}

/^KF_CONF\(/ {
	split_call($0, part)
	take_option(part)
	next
}

/^KF_CONTROL\(/ {
	split_call($0, part)
	controls = controls ".It Cm " part[1] " Ns = Ns Ar " part[2] "\n" \
		sentence(part[3]) "\n"
	next
}

/^KF_STAT_(SLOT|WORD)\(/ {
	split_call($0, part)
	take_counter(part)
	next
}

/^KF_BOX\(/ {
	split_call($0, part)
	events = events ".It Cm " part[1] \
		(part[6] == "COARSE" ? " No (coarse)" : "") "\n" \
		sentence(part[8]) "\n"
	next
}

/^KF_ENGINE\(/ {
	split_call($0, part)
	engines = engines ".It Cm " part[1] "\n" sentence(part[2]) "\n"
	next
}

FILENAME !~ /\.in$/ { next }

/^@ENVIRONMENT@$/ { printf "%s", environment; next }
/^@RUN_OPTIONS@$/ { printf "%s", run_options; next }
/^@CONTROLS@$/ { printf "%s", controls; next }
/^@ENGINES@$/ { printf "%s", engines; next }
/^@EVENTS@$/ { printf "%s", events; next }
/^@COUNTERS@$/ { printf "%s", counters; next }

{ print }
