# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# A clean Debian, for what is installed into one; read after lib.sh.
#
#   clean_debian	make the minimal bookworm in the cache unless it is there;
#			$base is its directory, of which to take copies. Skips
#			the test where it cannot be had
#
# It comes from the mirror that the roots of tests/vm come from.

none() {
	skip "$@"
}

# shellcheck source=tests/vm/root.sh
. "$top_srcdir/tests/vm/root.sh"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/konfiscator-debian

clean_debian() {
	[ "$(id -u)" -eq 0 ] || skip "only root can make a root file system"
	need debootstrap chroot unshare
	base=$cache/bookworm
	lock_root bookworm
	if [ ! -d "$base" ]; then
		find_mirror bookworm
		rm -rf "$base.part"
		debootstrap --variant=minbase bookworm "$base.part" "$mirror" \
			>"$cache/bookworm.log" 2>&1 ||
			skip "debootstrap: $(tail -n 1 "$cache/bookworm.log")"
		mv "$base.part" "$base"
	fi
	unlock_root
}
