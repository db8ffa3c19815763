#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# What changed between two profiles, or between two moments of one, is red where
# it grew, blue where it shrank, and grey where it may be chance; a slider shows
# any moment. The page of diff has the same in a table, without scripts.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"
needs chromium chromium

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64
stacks cache 90000000 10000000 4096
stacks inlined 8000000 1000000 512
cli record -p "$pid" -o before --duration=0.1 2>err || fail "$(cat err)"
cli record -p "$pid" -o both --interval=0.1 7>&- 8<&- 2>err &
recorder=$!
at_exit "kill -9 $recorder 2>/dev/null"
moments() {
	[ "$(cli --format=csv report --view=timeline --rows=0 both 2>/dev/null |
		wc -l)" -gt "$1" ]
}
wait_for 60 moments 2 || fail "no snapshot was taken"
stacks leaky 220000000 0 64
stacks cache 90000000 80000000 4096
stacks inlined 11000000 1000000 512
seen=$(cli --format=csv report --view=timeline --rows=0 both 2>/dev/null | wc -l)
wait_for 60 moments "$((seen + 1))" || fail "no later snapshot was taken"
kill -9 $recorder # a shell lets such programs ignore SIGINT
wait $recorder || true
cli record -p "$pid" -o after --duration=0.1 2>err || fail "$(cat err)"
stacks_end

expect 0 cli diff -o diff.html before after
[ ! -s out ] || fail "diff -o printed: $(cat out)"
expect 0 cli report -o both.html both
expect 2 cli diff -o diff.png before after
says "diff: -o: 'diff.png' does not end in .html"
expect 1 cli diff -o gate.html --fail-over=10M before after
grep -q 'id="calls"' gate.html || fail "over the limit there is no page"

# without scripts
sed '/<script/,/<\/script>/d' diff.html >still.html
for text in '<b>Before</b> before: mkstacks' '+191 MiB' '76.3 MiB before' \
	'<summary>leaky</summary>' '2 of 3 stacks'; do
	tr -d '\n' <still.html | sed 's/ data-unit="\( [a-z]*\)">\([^<]*\)/>\2\1/g' |
		grep -qF "$text" || fail "without a script there is no '$text'"
done

cat >tell.html <<'END'
<script>
const flame = document.querySelector("[data-calls]").flame;
const bar = (name) => flame.bars.find((b) => b.node.name === name);
const input = (e, value) => {
	e[e.type === "checkbox" ? "checked" : "value"] = value;
	e.dispatchEvent(new Event("input"));
};
const colour = (name) => {
	const [r, , b] = getComputedStyle(bar(name).g.querySelector("rect")).fill
		.match(/[0-9.]+/g).map(Number);
	return r > b + 30 ? "red" : b > r + 30 ? "blue" : "grey";
};
const tell = (name) => bar(name).g.querySelector("title").textContent;
const change = (name) => tell(name).split("\n").pop().replace(/ \u00b1 [^,]*/, "");
const share = (name) => Math.round(100 * bar(name).width / flame.box.clientWidth);
const says = [];
const colours = () => ["leaky", "cache", "inmost"].map(colour).join(" ");
</script>
END
cat >diff-acts.html <<'END'
<script>
says.push(colours(), change("leaky"), change("inmost"));
input(flame.tools.width, "change");
says.push(share("leaky"), share("cache"));
input(flame.tools.width, "before");
says.push(share("leaky"), share("cache"));
document.body.dataset.says = JSON.stringify(says);
</script>
END
cat >both-acts.html <<'END'
<script>
const { at, since, compare } = flame.tools;
input(at, 0);
says.push(tell("leaky").split("\n").pop().split(" \u00b1 ")[0]);
input(at, at.max);
says.push(tell("leaky").split("\n").pop().split(" \u00b1 ")[0]);
says.push(flame.tools.widthLabel.hidden);
input(compare.lastChild, true);
input(since, 0);
says.push(flame.tools.widthLabel.hidden, colours(), change("leaky"));
// samples that both moments have are no part of the error
says.push(/may be chance/.test(tell("inmost")));
document.body.dataset.says = JSON.stringify(says);
</script>
END
look() {
	cat "$1.html" tell.html "$1-acts.html" >acted.html
	chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
		--user-data-dir="$WORK/browser" --window-size=1300,900 \
		--dump-dom "file://$WORK/acted.html" >dom 2>err ||
		skip "chromium does not run here: $(tail -n 1 err)"
	sed -n 's/.*data-says="\([^"]*\)".*/\1/p' dom | sed 's/&quot;/"/g'
}
equal "the page of diff" '["red blue grey","before 19.1 MiB, change +191 MiB","before 6.68 MiB, change +2.86 MiB, may be chance",73,26,19,75]' \
	"$(look diff)"
equal "the page of two moments" '["19.1 MiB","210 MiB",true,false,"red blue red","before 19.1 MiB, change +191 MiB",false]' \
	"$(look both)"
