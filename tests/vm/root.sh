# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# How the root file systems are made; vm reads this.
#
#   make_root NAME	make it unless it is there; its directory is $root, the
#			directory of stap's cache for it $stap. Ends the script
#			with 77 where it cannot be had, saying why
#   lock_root NAME	nobody else makes or deletes it until unlock_root
#
# A root is a directory NAME-SUM in the cache, SUM being that of this recipe but
# for comments: a changed recipe makes another. It is made beside and renamed when whole. The
# packages are of the day on which it was made; /kf/versions in it lists them.
# One that was not entered for two weeks goes when another is made.

# shellcheck disable=SC2034
roots="trixie forky"

# SystemTap compiles probes of programs from 5.6 on, which is forky's.
packages_trixie="bpftrace"
packages_forky="bpftrace systemtap"
# Every root; pigz is the program with many threads.
packages_common="linux-image-cloud-amd64 linux-headers-cloud-amd64 gcc libc6-dev
	make pigz libjansson4 libmicrohttpd12t64 libprotobuf-c1 libncursesw6"

# Seconds that making a root may take.
: "${KF_VM_ROOT_LIMIT:=600}"

apt_options="-qq -y -o Acquire::Retries=2 -o Acquire::http::Timeout=30
	-o Acquire::https::Timeout=30 -o Acquire::Check-Valid-Until=false
	-o APT::Install-Recommends=false"

# need_program PROGRAM PACKAGE
need_program()
{
	command -v "$1" >/dev/null || none "$1 is missing (package $2)"
}

# The mirror of this machine's own Debian.
find_mirror()
{
	mirror=${KF_VM_MIRROR:-}
	# shellcheck disable=SC2016
	[ -n "$mirror" ] || mirror=$(apt-get indextargets --format \
		'$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
		sed -n '/security/d; s/^Debian //p' | head -n 1)
	[ -n "$mirror" ] ||
		none "apt has no Debian mirror here: set KF_VM_MIRROR to one"
	/usr/lib/apt/apt-helper -q -q -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		download-file "$mirror/dists/$1/InRelease" \
		"$cache/$1.reached" >"$cache/$1.log" 2>&1 ||
		none "the mirror $mirror does not give $1: $(
			tail -n 1 "$cache/$1.log")"
	rm -f "$cache/$1.reached"
}

lock_root()
{
	mkdir -p "$cache" || none "$cache cannot be made"
	exec 8>"$cache/$1.lock" || none "$cache cannot be written"
	flock -w $((KF_VM_ROOT_LIMIT + 60)) 8 ||
		none "another program keeps $cache/$1.lock"
}

unlock_root()
{
	exec 8>&-
}

make_root()
{
	case $(uname -m) in
	x86_64) ;;
	*) none "there is no root for $(uname -m), only for x86_64" ;;
	esac
	sum=$(sed '/^[	 ]*#/d' "$here/root.sh" | cksum)
	root=$cache/$1-${sum%% *}
	stap=$root.stap
	if [ -d "$root" ]; then
		mkdir -p "$stap"
		touch "$root" "$stap"
		return
	fi
	[ "$(id -u)" -eq 0 ] || none "root's rights are missing"
	need_program unshare util-linux
	need_program debootstrap debootstrap
	need_program wget wget
	lock_root "$1"
	if [ ! -d "$root" ]; then
		# What was interrupted, which nobody makes now; what is old.
		rm -rf "$cache/$1"-*.new
		find "$cache" -maxdepth 1 -name "$1-*" -mtime +14 \
			-exec rm -rf {} +
		find_mirror "$1"
		say "making the root $1, which takes some minutes"
		trap 'rm -rf "$root.new"' EXIT
		trap 'exit 130' INT
		trap 'exit 143' HUP TERM
		timeout -k 10 "$KF_VM_ROOT_LIMIT" unshare --mount --pid --fork \
			--kill-child sh "$here/vm" --inside build "$1" \
			"$root.new" "$mirror" >"$cache/$1.log" 2>&1 8>&-
		made=$?
		if [ "$made" -ne 0 ]; then
			[ "$made" -ne 124 ] || none "the root $1 was not" \
				"made in $KF_VM_ROOT_LIMIT seconds"
			none "the root $1 cannot be made: $(
				grep -E '^(E|W|vm): ' "$cache/$1.log" |
					tail -n 1) ($cache/$1.log)"
		fi
		mkdir -p "$stap"
		mv "$root.new" "$root" || exit 1
		trap - EXIT HUP INT TERM
	fi
	unlock_root
}

in_new_root()
{
	DEBIAN_FRONTEND=noninteractive INITRD=No PATH=/usr/sbin:/usr/bin \
		chroot "$into" "$@" </dev/null
}

apt_in_root()
{
	# shellcheck disable=SC2086
	in_new_root apt-get $apt_options "$@"
}

# SystemTap of forky in trixie: its files alone. Asking apt for that version
# would bring forky's C library along.
add_forky_stap()
{
	echo "deb [check-valid-until=no] $mirror forky main" \
		>"$into/etc/apt/sources.list.d/forky.list"
	printf 'Package: *\nPin: release n=forky\nPin-Priority: 100\n' \
		>"$into/etc/apt/preferences.d/forky"
	apt_in_root update || return 1
	in_new_root sh -c 'cd /tmp && apt-get -qq download systemtap/forky \
		systemtap-common/forky systemtap-runtime/forky \
		systemtap-sdt-dev/forky' || return 1
	stap_files=$(cd "$into" && find tmp -name '*.deb' | sed 's,^,/,')
}

# build NAME DIRECTORY MIRROR: under mount and process namespaces of its own.
build()
{
	into=$2
	mirror=$3
	mount --make-rprivate /
	mkdir -p "$into/etc/dpkg/dpkg.cfg.d"
	# No fsync, nothing to read.
	cat >"$into/etc/dpkg/dpkg.cfg.d/konfiscator" <<'END'
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
END
	printf 'timeout = 30\ntries = 3\n' >"$into/wgetrc"
	# One script serves all newer releases; not every debootstrap has a link
	# of each name.
	WGETRC=$into/wgetrc debootstrap --variant=minbase "$1" "$into" \
		"$mirror" /usr/share/debootstrap/scripts/sid || {
		say "debootstrap failed"
		return 1
	}
	mount -t proc proc "$into/proc" || return 1
	stap_files=
	case $1 in
	trixie)
		add_forky_stap || return 1
		packages=$packages_trixie
		;;
	forky)
		packages=$packages_forky
		;;
	esac
	# shellcheck disable=SC2086
	apt_in_root install $packages_common $packages $stap_files || return 1
	for kernel in "$into"/boot/vmlinuz-*; do
		kernel=${kernel##*/vmlinuz-}
	done
	[ -e "$into/lib/modules/$kernel/build/Makefile" ] || {
		say "the headers are not those of the kernel $kernel"
		return 1
	}
	umount "$into/proc"
	mkdir -p "$into/kf/src" "$into/kf/build" "$into/kf/out" \
		"$into/kf/stap" "$into/kf/job"
	echo "$kernel" >"$into/kf/kernel"
	in_new_root dpkg-query -W >"$into/kf/versions" || return 1
	rm -rf "$into"/var/cache/apt/* "$into"/var/lib/apt/lists/* \
		"$into"/tmp/* "$into/wgetrc"
}
