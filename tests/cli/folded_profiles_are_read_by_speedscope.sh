#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# speedscope, a viewer that knows nothing of us, has the same stacks and bytes of
# a .folded file and of one in its own format. It is where npm install -g speedscope puts it, or where
# KF_SPEEDSCOPE says.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"
needs chromium chromium
if [ -z "${KF_SPEEDSCOPE-}" ]; then
	needs npm npm
	KF_SPEEDSCOPE=$(npm root -g 2>/dev/null)/speedscope
fi
[ -e "$KF_SPEEDSCOPE/dist/release/index.html" ] ||
	skip "speedscope is missing (npm install -g speedscope)"

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 work
stacks inlined 8000000 1000000 512
stacks lost 6000000 0 128
expect 0 "$KF_CLI" report --group=tag -o out.folded stats/mkstacks.1
expect 0 "$KF_CLI" report --group=tag -o out.speedscope.json stats/mkstacks.1
stacks_end

# It runs in a browser. What it would save as its own format, told to by its
# key, says what it read: bytes by tag, depth of the stack and inmost call.
cp -R "$KF_SPEEDSCOPE/dist/release" app
cat >act.html <<'END'
<!DOCTYPE html>
<script>
{
const Kept = Blob, root = document.documentElement;
window.Blob = function (parts, options) {
	const read = JSON.parse(parts[0]), sum = {}, stack = [];
	let at = 0;
	for (const event of read.profiles[0].events) {
		if (event.at > at) {
			const key = [stack[0], stack.length, stack.at(-1)].join();
			sum[key] = (sum[key] || 0) + event.at - at;
		}
		at = event.at;
		if (event.type === "O")
			stack.push(read.shared.frames[event.frame].name);
		else
			stack.pop();
	}
	root.dataset.says = Object.keys(sum).sort().map(
		(key) => key + "=" + sum[key]).join(" ");
	return new Kept(parts, options);
};
location.hash = "localProfilePath=" + encodeURIComponent(
	location.pathname.replace(/[^/]*$/, "load.js"));
const timer = setInterval(() => {
	if (root.dataset.says)
		clearInterval(timer);
	else
		window.dispatchEvent(new KeyboardEvent("keydown",
			{key: "s", ctrlKey: true}));
}, 100);
}
</script>
END
cat act.html app/index.html >app/act.html

# opened FILE: what speedscope has read of it
opened() {
	cat >app/load.js <<END
speedscope.loadFileFromBase64("$1", "$(base64 -w 0 "$1")");
END
	timeout -k 10 200 chromium --headless --no-sandbox --disable-gpu \
		--disable-dev-shm-usage --enable-unsafe-swiftshader \
		--user-data-dir="$WORK/browser" --virtual-time-budget=60000 \
		--dump-dom "file://$WORK/app/act.html" >dom 2>err ||
		skip "chromium does not run here: $(tail -n 1 err)"
	sed -n 's/.*data-says="\([^"]*\)".*/\1/p' dom
}

for file in out.folded out.speedscope.json; do
	equal "what speedscope read of $file" \
		"[boot],9,leaky=20000000 [no tag],10,inmost=7000000 \
[no tag],2,[no stack]=6000000 [work],9,cache=30000000" "$(opened "$file")"
done
