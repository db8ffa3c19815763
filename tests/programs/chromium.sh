#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# chromium: its processes make a page by a script.
. "$top_srcdir/tests/programs/same.sh"

needs chromium chromium
# Its processes have a malloc of their own, in which all names have to end; the
# library's is that of the programs which its start script runs.
counts="grep"

job()
{
	cat >page.html <<'END'
<p id=sum></p><script>
let all = [];
for (let i = 0; i < 200000; i++) all.push({n: i, text: "n" + i});
const sum = all.reduce((s, x) => s + x.n + x.text.length, 0);
document.getElementById("sum").textContent = sum;
</script>
END
	chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$PWD/profile" --dump-dom "file://$PWD/page.html" \
		2>/dev/null | grep -o 'id="sum">[0-9]*'
}

same_result "$@"
