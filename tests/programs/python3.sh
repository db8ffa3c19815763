#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# python3: objects of every size, regular expressions, json, sqlite, zlib.
. "$top_srcdir/tests/programs/same.sh"

needs python3 python3
counts="python3"

job()
{
	PYTHONMALLOC=malloc "${PYTHON3:-python3}" - <<'END'
import hashlib, json, re, sqlite3, zlib
tree = {f"key{i}": [{"n": j, "s": "x" * j} for j in range(i % 40)]
        for i in range(1500)}
text = json.dumps(tree, sort_keys=True)
assert json.loads(text) == tree
print(len(text), hashlib.sha256(text.encode()).hexdigest())
print(len(re.findall(r'"n": (\d+), "s": "(x*)"', text)))
print(zlib.crc32(zlib.decompress(zlib.compress(text.encode() * 4))))
db = sqlite3.connect(":memory:")
db.execute("create table t(a integer primary key, b text)")
db.executemany("insert into t(b) values(?)", [("v" * (i % 99),)
                                              for i in range(5000)])
print(db.execute("select count(*), sum(length(b)) from t").fetchone())
big = [bytearray(n) for n in (1, 100, 10_000, 1_000_000, 40_000_000)]
for b in big:
    b[-1] = 7
    b.extend(b)
print(sum(map(len, big)), sum(b[-1] for b in big))
END
}

same_result "$@"
