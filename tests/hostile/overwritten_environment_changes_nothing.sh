#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A forked child has the options that were in force at the start, though the
# program has written over its environment meanwhile.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir

titled=${top_builddir:?}/tests/hostile/titled
dir=$KONFISCATOR_DIR

# files N DIR: that many stats files of titled are there
files() {
	equal "files in $2" "$1" "$(find "$2" -name 'titled.*' | wc -l)"
}

run_under env KONFISCATOR_NAME=first KONFISCATOR_TAG=base \
	KONFISCATOR_TAG_STACKS='base*' KONFISCATOR_RECORD="$WORK/rec" \
	KONFISCATOR_TAGS_JSON="$WORK/tags-%p.json" "$titled"
files 2 "$dir"
equal "processes called first" 2 "$("$KF_CLI" --dir="$dir" --format=json \
	stat -a -n titled | sed -n 's/.*"process": "first",/first/p;
		s/.*"processes": \([0-9]*\),/\1/p' | sed -n '/first/{n;p;}')"
equal "recordings" 2 "$(find "$WORK" -maxdepth 1 -name 'rec*' | wc -l)"
equal "files of tags" 2 "$(find "$WORK" -maxdepth 1 -name 'tags-*' | wc -l)"
for file in "$WORK"/tags-*; do
	grep -q '"scope_base"' "$file" || fail "no tag base in $file"
done

# A directory by its name from here stays where it was.
rm "$dir"/*
(cd "$WORK" && KONFISCATOR_DIR=stats run_under "$titled")
files 2 "$dir"

# What the session says is kept as well.
rm "$dir"/*
unset KONFISCATOR_DIR
if [ ! -e /run/konfiscator ]; then
	mkdir -m 0700 "$WORK/session"
	XDG_RUNTIME_DIR=$WORK/session run_under "$titled"
	files 2 "$WORK/session/konfiscator"
fi

# One that has no room is told and left out, the others are in force.
KONFISCATOR_DIR=$dir
export KONFISCATOR_DIR
said=$(KONFISCATOR_TAG_STACKS=$(printf '%020000d' 0 | tr 0 a) \
	run_under env "$titled" 2>&1 | sort -u)
case $said in
'konfiscator: KONFISCATOR_TAG_STACKS=aaaa'*'aaa...: too long; the default stays') ;;
*) fail "of a text that is too long it says: $said" ;;
esac
files 2 "$dir"
