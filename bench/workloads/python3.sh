#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# python3: documents, many small objects and the garbage collector, text,
# sorting.
#
# Usage: python3.sh prepare | documents | objects | bare | text | sort
# `bare` is `objects` with each object from malloc: python3 has an allocator of
# its own in between.
# needs: python3 python3
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0
export PYTHONHASHSEED=0

if [ "$1" = bare ]; then
	export PYTHONMALLOC=malloc
	set -- objects
fi
case $1 in
documents)
	exec python3 - <<'END'
import json
one = {str(i): {"name": "n%d" % i, "tags": [str(j) for j in range(i % 20)],
                "at": [i * 0.5, -i]} for i in range(6000)}
for _ in range(5):
    text = json.dumps(one, indent=1)
    one = json.loads(text)
assert len(one) == 6000
END
	;;
objects)
	exec python3 - <<'END'
import gc
class Node:
    def __init__(self, left, right):
        self.left, self.right, self.up = left, right, None
        for child in (left, right):
            if child is not None:
                child.up = self
def tree(depth):
    if depth == 0:
        return Node(None, None)
    return Node(tree(depth - 1), tree(depth - 1))
def count(node):
    return 0 if node is None else 1 + count(node.left) + count(node.right)
kept = tree(14)
for _ in range(60):
    assert count(tree(11)) == 4095
gc.collect()
assert count(kept) == 32767
END
	;;
text)
	exec python3 - <<'END'
import re
lines = ["%d the quick brown fox %s jumps over %d lazy dogs" %
         (i, "x" * (i % 300), i * 7919 % 1000) for i in range(30000)]
words = {}
for line in lines:
    for word in line.upper().split():
        words[word] = words.get(word, 0) + 1
text = "\n".join(lines)
found = re.findall(r"(\d+) lazy", text)
text = re.sub(r"qu(i)ck", lambda m: m.group(1) * 40, text)
parts = [p.encode("utf-16").decode("utf-16")[::-1] for p in text.split("\n")]
assert len(found) == len(parts) == 30000 and words["FOX"] == 30000
END
	;;
sort)
	exec python3 - <<'END'
import heapq, random
chance = random.Random(1)
numbers = [chance.randrange(1 << 60) for _ in range(130000)]
by_text = sorted(numbers, key=str)
pairs = sorted((str(n % 1000), n) for n in numbers)
heap = []
for n in numbers[:60000]:
    heapq.heappush(heap, (n, str(n)))
while heap:
    last = heapq.heappop(heap)
assert len(by_text) == len(pairs) and last[0] == max(numbers[:60000])
END
	;;
esac
echo "python3.sh: no such work: $1" >&2
exit 2
