#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# report -o X.perfetto-trace: each stack of the profile with its names, files, lines,
# mappings and live bytes, by a reader of the wire format that is not ours; of a C++
# program with inlined calls and of Python.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs python3 python3
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
cd "$WORK"

cat >app.py <<'END'
import os
kept = []
def remember(n):
    kept.append(bytearray(n))
for i in range(200):
    remember(30000 + i)
os._exit(0) # nothing is freed
END
cat >app.cc <<'END'
#include <map>
#include <string>
#include <vector>
// Never freed.
static auto &kept = *new std::map<std::string, std::vector<long>>;
static inline __attribute__((always_inline)) void grow(const std::string &key)
{
	kept[key].resize(5000);
}
int main()
{
	for (int i = 0; i < 300; i++)
		grow("key " + std::to_string(i) + std::string(100, 'x'));
	return kept.size() != 300;
}
END
# shellcheck disable=SC2086 # CXX may be several words
${CXX:-c++} -g -O2 -o app app.cc
check() {
	name=$1
	shift
	expect 0 cli record --sample=4K -o "$name.profile" "$@"
	expect 0 cli report --raw --no-fold --metric=live \
		-o "$name.perfetto-trace" "$name.profile"
	expect 0 cli report --raw --no-fold --metric=live -o "$name.json" \
		"$name.profile"
	"$PYTHON3" "$top_srcdir/tests/cli/read_perfetto.py" \
		"$name.perfetto-trace" "$name.json" || fail "$name differs"
}
check python3 env PYTHONMALLOC=malloc python3 app.py
check c++ ./app
