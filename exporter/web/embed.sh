#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# embed.sh NAME= [FILE...] [NAME= [FILE...]]...: print a C header with an array
# for each NAME, which has a newline followed by the bytes of its files.
set -eu
bytes() {
	od -An -v -tx1 | sed 's/ *\(..\)/0x\1,/g'
}

echo "/* made by embed.sh */"
open=
for arg in "$@"; do
	case $arg in
	*=)
		[ -z "$open" ] || echo "};"
		open=yes
		printf 'static const unsigned char %s[] = {\n' "${arg%=}"
		echo | bytes
		;;
	*)
		bytes <"$arg"
		;;
	esac
done
echo "};"
