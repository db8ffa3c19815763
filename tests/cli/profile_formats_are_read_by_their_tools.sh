#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# pprof's format is read by protoc's own decoder, massif's by ms_print, XML,
# JSON and CSV by python; all of them have the same amounts.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"
needs ms_print valgrind
needs protoc protobuf-compiler
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64 boot
stacks cache 90000000 60000000 4096 work
stacks inlined 8000000 1000000 512
stacks lost 6000000 0 128
for suffix in pb.gz folded svg firefox.json json csv massif; do
	expect 0 "$KF_CLI" report -o "out.$suffix" stats/mkstacks.1
done
expect 0 "$KF_CLI" report --group=tag -o tags.folded stats/mkstacks.1
# what has the same names is one line, whatever it is told apart by otherwise
stacks leaky 5000000 0 64 other
expect 0 "$KF_CLI" report -o twice.folded stats/mkstacks.1
equal "lines of leaky" 25000000 \
	"$(sed -n 's/.*;leaky \([0-9]*\)$/\1/p' twice.folded)"
stacks_end

# apart from what the command is built of
gzip -dc <out.pb.gz | protoc --decode=Profile \
	--proto_path="$top_srcdir/tests/fixture" published.proto >pprof.txt ||
	fail "protoc does not read it"
ms_print out.massif >printed || fail "ms_print does not read it"
grep -q "cache (in mkstacks)" printed || fail "ms_print sees no cache"

cat >check.py <<'END'
import csv, json, re, xml.dom.minidom

def message(lines):
    out = []
    for line in lines:
        line = line.strip()
        if line == "}":
            return out
        if line.endswith("{"):
            out.append((line[:-2], message(lines)))
        else:
            key, value = line.split(": ", 1)
            out.append((key, json.loads(value) if value[0] == '"' else value))
    return out

def of(m, key):
    return [v for k, v in m if k == key]

def number(m, key):
    return int((of(m, key) or [0])[0])

p = message(iter(open("pprof.txt")))
text = of(p, "string_table")
assert text[0] == ""
types = [text[number(t, "type")] for t in of(p, "sample_type")]
assert types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], types
functions = {number(f, "id"): text[number(f, "name")] for f in of(p, "function")}
places = {number(l, "id"): l for l in of(p, "location")}
maps = {number(m, "id"): m for m in of(p, "mapping")}
assert all(re.fullmatch("[0-9a-f]{40}", text[number(m, "build_id")])
           for m in maps.values() if "mkstacks" in text[number(m, "filename")])
seen = {}
for s in of(p, "sample"):
    names = []
    for i in of(s, "location_id"):
        place = places[int(i)]
        m = maps[number(place, "mapping_id")]
        assert number(m, "memory_start") <= number(place, "address") < number(m, "memory_limit")
        names += [functions[number(l, "function_id")] for l in of(place, "line")]
    labels = {text[number(l, "key")]: text[number(l, "str")] or number(l, "num")
              for l in of(s, "label")}
    assert labels["tid"] > 0 and labels["comm"] == "main", labels
    seen[names[0] if names else ""] = (names, [int(v) for v in of(s, "value")], labels.get("tag"))
assert seen["cache"][1] == [21972, 90000000, 7324, 30000000], seen["cache"]
assert seen["cache"][2] == "work" and seen["leaky"][2] == "boot"
assert seen["inmost"][0][:3] == ["inmost", "outer", "take_frames"]
assert seen[""][1][3] == 6000000
live = {"leaky": 20000000, "cache": 30000000, "inmost": 7000000, "[no stack]": 6000000}

folded = {}
for line in open("out.folded"):
    stack, value = line.rstrip("\n").rsplit(" ", 1)
    folded[stack.split(";")[-1]] = int(value)
assert folded == live, folded
assert any(l.startswith("[work];_start;") and ";cache 30000000" in l for l in open("tags.folded"))

# the Firefox Profiler: no package has it, so its tables are read as it does
fx = json.load(open("out.firefox.json"))
assert fx["meta"]["preprocessedProfileVersion"] == 48 and fx["meta"]["version"] == 27
assert [t["name"] for t in fx["threads"]] == [
    "live", "sum of the stacks' own peaks, an upper bound", "alloc"]
fx_seen = {}
for t in fx["threads"]:
    for name in ("samples", "markers", "stackTable", "frameTable", "funcTable",
                 "resourceTable", "nativeSymbols"):
        assert all(len(v) == t[name]["length"] for v in t[name].values()
                   if isinstance(v, list)), name
    assert t["samples"]["weightType"] == "bytes"
    for stack, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
        names = []
        while stack is not None:
            func = t["frameTable"]["func"][t["stackTable"]["frame"][stack]]
            names.append(t["stringArray"][t["funcTable"]["name"][func]])
            above = t["stackTable"]["prefix"][stack]
            assert above is None or above < stack
            stack = above
        fx_seen[t["name"], names[0]] = weight, names
assert {n: w for (m, n), (w, _) in fx_seen.items() if m == "live"} == live, fx_seen
assert fx_seen["alloc", "cache"][0] == 90000000
assert fx_seen["live", "inmost"][1][:3] == ["inmost", "outer", "take_frames"]
assert fx_seen["live", "cache"][1][-1] == "_start"

j = json.load(open("out.json"))
assert {(s["frames"] or [{"function": "[no stack]"}])[0]["function"]: s["live"] for s in j["sites"]} == live
assert all(s["live_error_95"] > 0 for s in j["sites"])
rows = list(csv.DictReader(open("out.csv")))
assert {r["stack"].split(";")[-1] or "[no stack]": int(r["live"]) for r in rows} == live
bars = [t.firstChild.data.split("\n")[0] for t in
        xml.dom.minidom.parse("out.svg").getElementsByTagName("title")]
assert {"all", "main in mkstacks", "inmost in mkstacks"} <= set(bars), bars
END
"$PYTHON3" check.py || fail "the formats differ"
