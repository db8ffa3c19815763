# SPDX-License-Identifier: LGPL-2.1-or-later
# Insert the names of the tables into the template, the last argument:
#
#	awk -f tables.awk TABLE... TEMPLATE
#
# @engines@ and @profileviews@ become names, @controls@ NAME= of each setting,
# @options@ NAME= of each option of the library,
# @FILE.awk@ the program beside the template, without comments.

/^KF_ENGINE\(/ { engines = engines " " id() }
/^KF_PROFILE_VIEW\(/ { views = views " " id() }
/^KF_CONF\(/ { name = id(); gsub(/_/, "-", name); options = options " " name "=" }
/^KF_CONTROL\(/ { controls = controls " " id() "=" }

FILENAME ~ /\.in$/ {
	gsub(/@engines@/, substr(engines, 2))
	gsub(/@profileviews@/, substr(views, 2))
	gsub(/@controls@/, substr(controls, 2))
	gsub(/@options@/, substr(options, 2))
	if (match($0, /@[a-z]+\.awk@/))
		insert(substr($0, RSTART + 1, RLENGTH - 2),
		       substr($0, 1, RSTART - 1), substr($0, RSTART + RLENGTH))
	else
		print
}

function insert(name, before, after,    file, line, text)
{
	file = FILENAME
	sub(/[^\/]*$/, name, file)
	while ((getline line <file) > 0) {
		if (line !~ /^#/ && (line != "" || text != ""))
			text = text line "\n"
	}
	close(file)
	if (text == "")
		exit 1
	print before "\n" text after
}

function id(    name)
{
	name = $0
	sub(/^[A-Z_]*\(/, "", name)
	sub(/[,)].*/, "", name)
	return name
}
