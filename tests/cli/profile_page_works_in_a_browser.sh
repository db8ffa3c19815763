#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The page of a profile asks no host for anything, has its tables and bars
# without a script, and in a browser its flame graph can be searched, zoomed,
# inverted and turned, by mouse and by keys. Its text can be read in light and in
# dark, and on a narrow screen nothing is wider than the screen.
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
cli record -p "$pid" -o profile --duration=0.1 2>err || fail "$(cat err)"
expect 0 "$KF_CLI" report -o page.html profile
stacks_end

if grep -o '[a-z]*://[^" ]*' page.html | grep -v '^http://www.w3.org/2000/svg$'; then
	fail "the page names another host"
fi
grep -q "&lt;i&gt;work" page.html || fail "a tag's name is not escaped"
sed '/<script>/,$d' page.html >still.html
for text in "<title>cache in mkstacks" "28.6 MiB" "Over time" "boot" \
	"312.5k ± " "by blocks</label>"; do
	grep -qF "$text" still.html || fail "without a script there is no '$text'"
done

cat >act.html <<'END'
<script>
const flame = document.querySelector("[data-calls]").flame;
const bar = (name) => flame.bars.find((b) => b.node.name === name);
const tell = (name) => bar(name).g.querySelector("title").textContent;
const wide = (name) => bar(name) === undefined ? 0 :
	Math.round(100 * bar(name).width / flame.box.clientWidth);
const input = (e, value) => {
	e[e.type === "checkbox" ? "checked" : "value"] = value;
	e.dispatchEvent(new Event("input"));
};
const press = (key) => document.activeElement.dispatchEvent(
	new KeyboardEvent("keydown", { key, bubbles: true }));
const names = (bars) => bars.map((b) => b.node.name).join(" ");
const says = [];
input(flame.tools.search, "LEAKY");
says.push(flame.tools.found.value, names(flame.bars.filter((b) => b.g.matches(".found"))));
bar("inmost").g.dispatchEvent(new Event("click"));
says.push(wide("main"), wide("inmost"), wide("cache"), bar("main").g.matches(".around"));
says.push(tell("inmost").replace(/^.*\/|:[0-9]*\n.*/sg, ""),
	/\n[0-9.]+ MiB \u00b1 [0-9.]+ MiB, /.test(tell("inmost")));
flame.tools.reset.click();
says.push(flame.tools.found.value, wide("cache"), tell("cache").split(", ")[1]);
// from a leaf outward, by its callers
input(flame.tools.inverted.lastChild, true);
says.push(names(flame.bars.filter((b) => b.node.depth === 1)),
	bar("inmost").node.children[0].name);
input(flame.tools.inverted.lastChild, false);
// the root at the bottom, then on top
says.push(bar("all").y > bar("main").y);
input(flame.tools.top.lastChild, true);
says.push(bar("all").y < bar("main").y);
bar("all").g.focus();
for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "Enter"])
	press(key);
says.push(flame.zoomedNode.depth, document.activeElement === bar(flame.zoomedNode.name).g);
press("Escape");
says.push(flame.zoomedNode.name);
press("/");
says.push(document.activeElement === flame.tools.search);
input(flame.tools.metric, "count");
says.push(tell("leaky").includes(" blocks \u00b1 "));
// the switch of the page: tables and graph
const shown = () => [...document.querySelectorAll(".stacks")].filter((t) =>
	t.offsetWidth).map((t) => t.rows[1].cells[0].textContent).join();
says.push(shown());
document.getElementById("by-2").click();
says.push(shown(), flame.tools.metric.value,
	/\n312500 blocks \u00b1 /.test(tell("leaky")));
document.getElementById("by-1").click();
says.push(shown(), flame.tools.metric.value);
document.body.dataset.says = JSON.stringify(says);
</script>
END
cat page.html act.html >acted.html

# look PAGE SCHEME [OPTION...]: what its script left in data-says, in a browser
# that prefers the scheme, 0 dark, 1 light
look() {
	page=$1
	scheme=$2
	shift 2
	chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
		--user-data-dir="$WORK/browser" "$@" \
		--blink-settings=preferredColorScheme="$scheme" \
		--dump-dom "file://$WORK/$page" >dom 2>err ||
		skip "chromium does not run here: $(tail -n 1 err)"
	sed -n 's/.*data-says="\([^"]*\)".*/\1/p' dom | sed 's/&quot;/"/g'
}

equal "what the page did" '["1 call, 19.1 MiB, 35.1 %","leaky",100,100,0,true,"mkstacks.c",true,"",53,"52.6 % of all","cache leaky inmost","outer",true,true,2,true,"all",true,true,"28.6 MiB","312.5k","blocks",true,"28.6 MiB","live"]' \
	"$(look acted.html 1 --window-size=1300,900)"

# The least contrast of text and what is behind it, as WCAG 2 has it, must be
# 4.5; and nothing of the page is wider than a narrow window.
cat >see.html <<'END'
<script>
const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = (colour) => {
	const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
	return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) /
	(Math.min(light(a), light(b)) + 0.05);
const of = (name, what) => getComputedStyle(document.querySelector(name))[what];
const page = of("body", "backgroundColor");
const least = Math.min(contrast(of("body", "color"), page),
	contrast(of(".note", "color"), page),
	contrast(of(".flame-keys", "color"), page),
	contrast(of(".flame-legend", "color"), page),
	...[...document.querySelectorAll(".chart g text")].map((t) =>
		contrast(getComputedStyle(t).fill, page)),
	...[...document.querySelectorAll(".flame-bars g")].filter((g) =>
		g.querySelector("text")).map((g) =>
		contrast(getComputedStyle(g.querySelector("text")).fill,
			getComputedStyle(g.querySelector("rect")).fill)));
document.body.dataset.says = JSON.stringify([light(page) < 0.1 ? "dark" : "light",
	least >= 4.5 ? "" : least,
	Math.max(0, document.documentElement.scrollWidth - innerWidth)]);
</script>
END
cat page.html see.html >seen.html
equal "in light" '["light","",0]' "$(look seen.html 1 --window-size=360,800)"
equal "in dark" '["dark","",0]' "$(look seen.html 0 --window-size=360,800)"
