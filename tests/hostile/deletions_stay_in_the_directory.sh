#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Root's prune deletes nothing outside of the directories that it read, whatever
# their owners put in the place of these; and what it does not read it tells.
# shellcheck source=tests/hostile/hostile.sh
. "${top_srcdir:?}/tests/hostile/hostile.sh"
private_mounts "$0"
needs setpriv util-linux
mount -t tmpfs tmpfs /run || skip "tmpfs cannot be mounted"
unset TMPDIR
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
unset KONFISCATOR_DIR

# Of numbers that no other user of this machine has.
user=$((1000000000 + $$))
other=$((2000000000 + $$))

as_user() {
	setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

as_user true 2>/dev/null || skip "only root can run this"
TRIES=100
chmod 0755 "$WORK"
vault=$WORK/vault
mkdir -m 0700 "$vault"
mkstats "$vault/x.1.1" start=1

stays() {
	[ -e "$vault/x.1.1" ] || fail "$1: root's file was deleted"
}

# A link in the place of a user's directory, in the directories that root looks
# into by itself. /run/user/UID is not sticky: the kernel does not help there.
mine=/tmp/konfiscator-stats-$user
theirs=/tmp/konfiscator-stats-$other
at_exit "rm -rf $mine $theirs"
mkdir -p "/run/user/$user"
chown "$user:$user" "/run/user/$user"
for link in "/run/user/$user/konfiscator" "$mine"; do
	as_user ln -s "$vault" "$link"
	expect 0 "$KF_CLI" prune
	stays "$link"
	says "$link: not read: another user may have made a symbolic link"
	rm "$link"
done

# A link of root's own that the user gave another name.
ln -s "$vault" "$WORK/roots"
ln "$WORK/roots" "$mine"
expect 0 "$KF_CLI" prune
stays "a second name of root's link"
rm "$mine"

# A directory of somebody else's in the name of a user.
as_user mkdir -m 0755 "$theirs"
mkstats "$theirs/x.1.1" start=1
expect 0 "$KF_CLI" prune
says "$theirs: not read: the directory belongs to another user"
[ -e "$theirs/x.1.1" ] ||
	fail "a directory was read that is not its user's"
rm -r "$theirs"

# A link that root made where nobody else can is followed.
as_user mkdir -m 0755 "$mine"
mkstats "$mine/x.1.1" start=1
ln -s "$mine" /run/konfiscator
expect 0 "$KF_CLI" prune
equal "what a dead process left" "" "$(ls "$mine")"
rm /run/konfiscator

# So is one of procfs, which leads to another root.
mkstats "$mine/x.1.1" start=1
expect 0 "$KF_CLI" --dir="/proc/self/root$mine" prune
equal "what a dead process left" "" "$(ls "$mine")"

# The directory is another one from one moment to the next.
home=$WORK/home
mkdir "$home"
mkdir "$home/stats"
ln -s "$vault" "$home/link"
chown -hR "$user:$user" "$home"
mkstats "$WORK/dead" start=1 uid="$user"
"$PYTHON3" "$top_srcdir/tests/hostile/swap.py" "$home" "$WORK/dead" "$user" \
	>"$WORK/swapping" &
at_exit "kill $! && wait $!"
wait_for 60 grep -q swapping "$WORK/swapping" || fail "swap.py did not start"
i=0
while [ "$i" -lt "$TRIES" ]; do
	i=$((i + 1))
	"$KF_CLI" --dir="$home/stats" prune >/dev/null 2>&1 || true
	stays "a directory that is swapped for a link"
	"$KF_CLI" --dir="$home/stats/." prune >/dev/null 2>&1 || true
	stays "a directory that is swapped for a link"
done
