#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# vim: edit a file by a script: undo, substitute, sort, folds.
. "$top_srcdir/tests/programs/same.sh"

needs vim vim
counts="vim"

job()
{
	seq 3000 >in
	cat >s.vim <<'END'
set nomore
%s/\v(\d)\1/<\1>/ge
g/5$/m0
undo
sort! n
call append(0, map(range(500), 'printf("%04d", v:val)'))
normal! ggyG10P
write! out
qall!
END
	vim -E -s -N -u NONE -i NONE -n -S s.vim in
	echo "status $?"
	cksum out
}

same_result "$@"
