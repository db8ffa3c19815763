# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the lint tests share: which files make up the tree, and how to report.
#
# A lint test reads the tree at $top_srcdir, calls `complain` once for each
# fault and ends with `verdict`. A list of files that comes out empty is a
# fault of its own, so that no check can pass by looking at nothing.

# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
set +eu
faults=0
looked_at=0

# The files of the tree, one a line, relative to it: those that git tracks, or,
# in an unpacked release, all but what the build made.
tree_files()
{
	if [ -e "$top_srcdir/.git" ] && command -v git >/dev/null; then
		git -c safe.directory='*' -C "$top_srcdir" ls-files |
			while IFS= read -r f; do
				[ ! -f "$top_srcdir/$f" ] || echo "$f"
			done
	else
		(cd "$top_srcdir" && find . -type f | sed 's,^\./,,') |
			grep -Ev '^(\.git|_build|_inst|build|build-aux|autom4te\.cache)/' |
			grep -Ev '^m4/(libtool|lt[a-z~]*)\.m4$' |
			grep -Ev '^exporter/web/made/' |
			grep -Ev '^(configure~?|aclocal\.m4|config\.h\.in~?)$' |
			grep -Ev '^(Makefile\.in|INSTALL|\.version)$'
	fi | LC_ALL=C sort
}

# tree_match EXPRESSION: those of them that an extended expression matches.
tree_match()
{
	tree_files | grep -E -- "$1"
}

complain()
{
	echo "$*" >&2
	faults=$((faults + 1))
}

# verdict WHAT: fail when something was complained of, or nothing looked at.
verdict()
{
	if [ "$looked_at" -eq 0 ]; then
		echo "nothing to look at: the list of $1 is empty" >&2
		exit 1
	fi
	echo "$looked_at $1 looked at, $faults faults"
	[ "$faults" -eq 0 ] || exit 1
	exit 0
}
