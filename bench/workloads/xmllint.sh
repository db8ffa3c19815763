#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# xmllint: read a document into a tree, search it, write it.
#
# Usage: xmllint.sh prepare | tree
# needs: xmllint libxml2-utils
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

if [ "$1" = prepare ]; then
	awk 'BEGIN {
	print "<?xml version=\"1.0\"?>\n<all>"
	for (i = 0; i < 90000; i++)
		printf "<row id=\"%d\" kind=\"k%d\"><name>name %d</name>%s</row>\n",
			i, i % 31, i, "<p>some <b>text</b> in it &amp; more</p>"
	print "</all>" }' >"$BENCH_DATA/document.xml"
	exit
fi
exec xmllint --noout --xpath 'count(//row[@kind="k7"]/p/b)' \
	"$BENCH_DATA/document.xml" >out
