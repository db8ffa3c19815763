#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# xmllint: parse, format, query, reject.
. "$top_srcdir/tests/programs/same.sh"

needs xmllint libxml2-utils
counts="xmllint"

job()
{
	awk 'BEGIN {
		print "<?xml version=\"1.0\"?><r>"
		for (i = 0; i < 20000; i++)
			printf "<e id=\"%d\"><n>%d</n><t>text %d</t></e>", i, i % 77, i
		print "</r>" }' >in.xml
	xmllint --format in.xml | cksum
	xmllint --xpath 'count(//e[n=7])' in.xml && echo
	xmllint --xpath 'string(//e[@id="1999"]/t)' in.xml && echo
	echo '<a><b></a>' | xmllint - 2>&1
	echo "status $?"
}

same_result "$@"
