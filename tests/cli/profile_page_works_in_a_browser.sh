#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The page of a profile asks no host for anything, has its tables and bars
# without a script, and in a browser its search and its zoom do what they say.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"
needs chromium chromium

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 "<i>work"
stacks inlined 8000000 1000000 512
expect 0 "$KF_CLI" report -o page.html stats/mkstacks.1
stacks_end

if grep -o '[a-z]*://[^" ]*' page.html | grep -v '^http://www.w3.org/2000/svg$'; then
	fail "the page names another host"
fi
grep -q "&lt;i&gt;work" page.html || fail "a tag's name is not escaped"
sed '/<script>/,$d' page.html >still.html
for text in "<title>cache in mkstacks" "28.6Mi" "Over the time" "boot"; do
	grep -qF "$text" still.html || fail "without a script there is no '$text'"
done

cat >act.html <<'END'
<script>
const shown = () => [...document.querySelectorAll(".bar")].filter(
	(g) => g.style.display !== "none").length;
const bar = (name) => [...document.querySelectorAll(".bar")].find(
	(g) => g.querySelector("title").textContent.startsWith(name + " in"));
const says = [];
document.getElementById("text").value = "LEAKY";
document.getElementById("text").dispatchEvent(new Event("input"));
says.push(document.getElementById("found").textContent);
const all = shown();
bar("inmost").dispatchEvent(new Event("click"));
says.push(all - shown(), bar("inmost").querySelector("rect").getAttribute("width"),
	bar("outer").querySelector("text").textContent);
document.getElementById("reset").click();
says.push(all - shown(), document.getElementById("found").textContent);
document.body.dataset.says = JSON.stringify(says);
</script>
END
cat page.html act.html >acted.html
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
	--user-data-dir="$WORK/browser" --dump-dom "file://$WORK/acted.html" \
	>dom 2>err || skip "chromium does not run here: $(tail -n 1 err)"
equal "what the page did" '["1 calls, 35.1 %",2,"1200","outer",0,""]' \
	"$(sed -n 's/.*data-says="\([^"]*\)".*/\1/p' dom | sed 's/&quot;/"/g')"
