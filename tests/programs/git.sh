#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# git: commits, a merge, gc with threads, fsck, clone.
. "$top_srcdir/tests/programs/same.sh"

needs git git
counts="git"

job()
{
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z'
	export GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
	git -c init.defaultBranch=one init -q r
	cd r || exit 1
	for i in 1 2 3 4 5 6 7 8 9 10; do
		seq "$i" "$((i * 400))" >"file$i"
		seq 1 3000 | sed "$i s/\$/ changed/" >file
		git add . && git commit -q -m "commit $i"
	done
	git branch two HEAD~5
	git checkout -q two
	echo other >other && git add . && git commit -q -m other
	git merge -q one -m merged
	git gc -q --aggressive --prune=now
	git fsck --strict 2>&1
	git count-objects -v | grep -E '^(count|in-pack|packs|garbage)'
	git log --oneline --graph
	git blame file | cksum
	git clone -q . ../clone && git -C ../clone rev-parse HEAD
}

same_result "$@"
