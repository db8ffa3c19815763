# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Common functions of ./demo and ./check: install missing packages, and build.
#
# Both may be started from anywhere, as root or by someone with sudo, without a
# terminal, any number of times. Outside of the checkout they only install
# packages, and make a link in /tmp if the checkout's path needs one.

say()
{
	printf '\n== %s\n' "$*"
}

warn()
{
	printf '\n!! %s\n' "$*" >&2
}

# missing_packages FILE: packages of its lines "FOR COMMAND PACKAGE" that are
# not installed.
missing_packages()
{
	while read -r _ command package; do
		if [ "$command" != - ]; then
			command -v "$command" >/dev/null && continue
		fi
		case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
		*' installed') ;;
		*) echo "$package" ;;
		esac
	done <"$1" | sort -u
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif [ -t 0 ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}

# Keep packages from starting servers, with Debian's policy hook, unless the
# machine has such a hook.
install_packages()
{
	# The script's variables are its own, not this shell's.
	# shellcheck disable=SC2016
	as_root sh -c '
	export DEBIAN_FRONTEND=noninteractive
	hook=/usr/sbin/policy-rc.d
	if [ ! -e "$hook" ]; then
		printf "#!/bin/sh\nexit 101\n" >"$hook" && chmod +x "$hook"
		trap "rm -f $hook" EXIT
	fi
	set -- apt-get -qq -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 install "$@"
	"$@" </dev/null' sh "$@"
}

# install_missing FILE: install the missing packages of the list.
install_missing()
{
	if ! command -v apt-get >/dev/null; then
		warn "no apt-get here: packages are not looked after"
		return
	fi
	packages=$(missing_packages "$1")
	if [ -z "$packages" ]; then
		say "all packages are here"
		return
	fi
	# shellcheck disable=SC2086
	say "installing" $packages
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		warn "neither root nor sudo: cannot install"
		return
	fi
	as_root apt-get -qq update </dev/null ||
		warn "apt-get update failed; trying with the lists there are"
	# If one name is unknown apt refuses all: then install each on its own.
	# shellcheck disable=SC2086
	if ! install_packages $packages; then
		for package in $packages; do
			install_packages "$package" ||
				warn "could not install $package"
		done
	fi
	packages=$(missing_packages "$1")
	# shellcheck disable=SC2086
	[ -z "$packages" ] || warn "still missing:" $packages
}

# plain_path DIRECTORY: a name of the directory that configure and libtool
# accept: itself or, if its path has a blank, a link in a private directory. The
# name of the link derives from the path, so that a second build finds it.
plain_path()
{
	case $1 in
	*[!A-Za-z0-9/_.,+@%=:~-]*) ;;
	*)
		echo "$1"
		return
		;;
	esac
	home=${TMPDIR:-/tmp}
	case $home in
	*[!A-Za-z0-9/_.,+@%=:~-]*) home=/tmp ;;
	esac
	home=$home/konfiscator-build-$(id -u)
	mkdir -m 700 "$home" 2>/dev/null
	if [ -L "$home" ] || [ ! -O "$home" ]; then
		warn "$home is not a directory of ours: move it away"
		return 1
	fi
	link=$home/$(printf '%s' "$1" | cksum | tr ' ' -)
	ln -sfn "$1" "$link" && echo "$link"
}

# configure_and_make DIRECTORY ARGUMENT...: build out of tree, incrementally; a
# build that fails on files of an older one is repeated from scratch.
configure_and_make()
{
	into=$1
	shift
	if [ -d "$into" ]; then
		build_once "$@" && return 0
		warn "the build failed; once more from nothing"
		rm -rf "$into" configure
	fi
	build_once "$@"
}

build_once()
{
	if [ ! -x configure ] || [ ! -f build-aux/ltmain.sh ]; then
		say "autoreconf"
		autoreconf -fi >build.log 2>&1 || {
			cat build.log >&2
			return 1
		}
		rm -f build.log
	fi
	mkdir -p "$into" || return 1
	if [ ! -f "$into/config.status" ]; then
		say "configure $*"
		(cd "$into" && "$root/configure" -q "$@") || return 1
	fi
	say "make"
	in_build make -s -j"$jobs"
}

# in_build COMMAND ARGUMENT...: run make or another command in the build
# directory. Use cd instead of -C, so that PWD keeps the name without blanks.
in_build()
{
	(
		cd "$into" || exit 1
		export PWD
		"$@"
	)
}

jobs=$(getconf _NPROCESSORS_ONLN)

# Variables of this shell must not influence the build or the tests.
unset LD_PRELOAD MAKEFLAGS MFLAGS MAKELEVEL CDPATH ENV CONFIG_SITE
for variable in $(env | sed -n 's/^\(KONFISCATOR_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export LC_ALL=C

root=$(plain_path "$PWD") && cd "$root" || exit 1
