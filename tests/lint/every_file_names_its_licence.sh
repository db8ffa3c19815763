#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every file has an SPDX line at its head, and only public headers are under
# the BSD licence. Exempt are licence texts and what cannot hold a comment.
. "$top_srcdir/tests/lint/tree.sh"

cd "$top_srcdir" || exit 1
list=$(tree_files | grep -Ev '(^|/)COPYING|^tests/fuzz/corpus/|\.(json|golden|png|svg)$')
for f in $list; do
	looked_at=$((looked_at + 1))
	licence=$(head -n 5 "$f" |
		sed -n 's/.*SPDX-License-Identifier: *\([A-Za-z0-9.-]*\).*/\1/p')
	case $f in
	include/*.h) wanted=BSD-2-Clause ;;
	*) wanted=LGPL-2.1-or-later ;;
	esac
	[ "$licence" = "$wanted" ] ||
		complain "$f: SPDX says \"$licence\", wanted is $wanted"
done

verdict files
