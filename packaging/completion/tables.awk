# SPDX-License-Identifier: LGPL-2.1-or-later
# Insert the names of the tables into the template, the last argument:
#
#	awk -f tables.awk TABLE... TEMPLATE
#
# @engines@ and @profileviews@ become names, @controls@ NAME= of each setting.

/^KF_ENGINE\(/ { engines = engines " " id() }
/^KF_PROFILE_VIEW\(/ { views = views " " id() }
/^KF_CONTROL\(/ { controls = controls " " id() "=" }

FILENAME ~ /\.in$/ {
	gsub(/@engines@/, substr(engines, 2))
	gsub(/@profileviews@/, substr(views, 2))
	gsub(/@controls@/, substr(controls, 2))
	print
}

function id(    name)
{
	name = $0
	sub(/^[A-Z_]*\(/, "", name)
	sub(/[,)].*/, "", name)
	return name
}
