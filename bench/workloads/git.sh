#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# git: a history read in, packed tightly, looked through.
#
# Usage: git.sh prepare | history
# needs: git git
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

if [ "$1" = prepare ]; then
	awk 'BEGIN {
	for (c = 1; c <= 400; c++) {
		print "commit refs/heads/main"
		printf "committer A <a@example.org> %d +0000\n", 1e9 + c
		message = "change " c
		printf "data %d\n%s\n", length(message), message
		for (f = 0; f < 6; f++) {
			text = ""
			for (l = 0; l < 60; l++)
				text = text "line " l " of " (l * c * (f + 1)) % 97 "\n"
			printf "M 644 inline d%d/f%d\n", (c * 7 + f) % 20, f
			printf "data %d\n%s\n", length(text), text
		}
	} }' >"$BENCH_DATA/history"
	exit
fi
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main .
git fast-import --quiet <"$BENCH_DATA/history"
git -c pack.threads=1 repack -q -a -d -f --depth=20 --window=50
git reset -q --hard
git log -p --stat main >log.txt
git blame d3/f1 >blame.txt
git fsck --strict --no-progress
