#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the tools write as root into another user's directory goes through no link
# of that user: root's files stay, and the link is replaced. A link of root's own
# is followed.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can plant another user's link"
workdir

user=23456
mine=$WORK/mine
theirs=$WORK/theirs
mkdir -m 0700 "$mine"
mkdir -m 0777 "$theirs"
chown "$user" "$theirs"
echo precious >"$mine/file"

run_under env KONFISCATOR_SAMPLE=1K KONFISCATOR_RECORD="$WORK/rec" \
	KONFISCATOR_TAGS_JSON="$WORK/tags" KONFISCATOR_TAG=all \
	sort "$top_srcdir/NEWS" >"$WORK/out"

# cli ARGUMENT...
cli() {
	"$KF_CLI" "$@" >"$WORK/out" 2>&1 || fail "$*: $(cat "$WORK/out")"
}

# written WHAT: through no link of the user, whoever's the directory is
written() {
	what=$1 out=$2
	shift 2
	for dir in "$theirs" "$WORK/open" "$WORK/sticky"; do
		rm -f "$dir"/*
		ln -s "$mine/file" "$dir/$out"
		chown -h "$user" "$dir/$out"
		cli "$@" -o "$dir/$out" ${command:+-- sh -c :}
		equal "root's file after $what into $dir" precious \
			"$(cat "$mine/file")"
		[ ! -h "$dir/$out" ] || fail "$what left the link of $dir"
		[ -s "$dir/$out" ] ||
			fail "$what wrote nothing to $dir"
		equal "files of $dir after $what" "$out" "$(ls -A "$dir")"
	done
}
mkdir -m 0777 "$WORK/open"
chmod 0777 "$WORK/open"
mkdir "$WORK/sticky"
chmod 1777 "$WORK/sticky"

command=
written report out.json report "$WORK/rec"
written tags out.json tags "$WORK/tags"
command=1
written record out.profile record --sample=1K

# Where nobody else can put it, a link is followed.
command=
ln -s "$mine/file" "$WORK/link.csv"
cli report -o "$WORK/link.csv" "$WORK/rec"
[ -h "$WORK/link.csv" ] || fail "root's own link was replaced"
[ "$(cat "$mine/file")" != precious ] || fail "root's own link leads nowhere"

# Nothing goes through another user's link among the directories, and nothing is
# replaced or deleted there.
mkdir -m 0700 "$mine/dir"
# refused WHAT ARGUMENT...: as long as the directory is a link of the user's
refused() {
	what=$1
	shift
	! "$KF_CLI" "$@" >"$WORK/out" 2>&1 || fail "$what went through a link"
	grep -q "symbolic link" "$WORK/out" ||
		fail "$what says of the link: $(cat "$WORK/out")"
	equal "root's file after $what" precious "$(cat "$mine/dir/$name")"
	equal "root's files after $what" "$name" "$(ls -A "$mine/dir")"
}
for place in "$theirs" "$WORK/sticky" "$WORK/open"; do
	ln -s "$mine/dir" "$place/dir"
	chown -h "$user" "$place/dir"
	for name in out.json out.profile rec; do
		rm -f "$mine/dir"/*
		echo precious >"$mine/dir/$name"
		out=$place/dir/$name
		case $name in
		out.json)
			refused report report -o "$out" "$WORK/rec"
			refused tags tags -o "$out" "$WORK/tags"
			;;
		out.profile)
			refused record record --sample=1K -o "$out" -- sh -c :
			;;
		rec)
			refused run run --record="$out" -- sh -c :
			;;
		esac
	done
	rm "$place/dir"
done
# A link of root's own among them is followed.
ln -s "$mine/dir" "$WORK/dir"
cli report -o "$WORK/dir/own.csv" "$WORK/rec"
[ -s "$mine/dir/own.csv" ] || fail "root's own link to a directory leads nowhere"
rm "$WORK/dir"

# A user follows links of his own where others can write.
command -v setpriv >/dev/null || skip "setpriv is missing (util-linux)"
mkdir "$WORK/own"
chmod 0755 "$WORK"
chmod 0644 "$WORK/rec"
chown "$user" "$WORK/own"
ln -s "$WORK/own" "$WORK/sticky/own"
chown -h "$user" "$WORK/sticky/own"
setpriv --reuid "$user" --clear-groups "$KF_CLI" report \
	-o "$WORK/sticky/own/out.csv" "$WORK/rec" >"$WORK/out" 2>&1 ||
	fail "a user's own link: $(cat "$WORK/out")"
[ -s "$WORK/own/out.csv" ] || fail "a user's own link leads nowhere"

# A device stays one, though nothing is recorded.
mknod "$WORK/null" c 1 3 2>/dev/null || skip "no devices can be made here"
"$KF_CLI" record -o "$WORK/null" -- /no/such/program >"$WORK/out" 2>&1 || :
[ -c "$WORK/null" ] || fail "record deleted a device"
cli record -o "$WORK/null" -- sh -c :
[ -c "$WORK/null" ] || fail "record replaced a device"
# What is standard output stays that, a file as well.
cli record -o /dev/stdout -- sh -c :
[ -h /dev/stdout ] || fail "/dev/stdout was replaced"
grep -q . "$WORK/out" || fail "nothing came to /dev/stdout"
