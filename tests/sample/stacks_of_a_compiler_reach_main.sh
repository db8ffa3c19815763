#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# clang++ compiles templates and standard headers, with stacks of up to some
# hundred calls: no byte is under "[outer calls]", and every stack begins at main
# or at what starts it.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs clang++ clang
workdir

cat >"$WORK/in.cc" <<'END2'
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

template <int N> struct Deep {
	static int get(int x) { return Deep<N - 1>::get(x) + N; }
};
template <> struct Deep<0> {
	static int get(int x) { return x; }
};

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> all;
	std::regex words("[a-z]+");

	all[argv[0]].push_back(Deep<60>::get(argc));
	std::cout << all.size() << std::regex_match(argv[0], words) << "\n";
}
END2
cd "$WORK"
KONFISCATOR_SAMPLE=64K run_under env KONFISCATOR_SAMPLE_STACKS=100000 \
	clang++ -O1 -c in.cc -o in.o 2>err || fail "clang++: $(cat err)"
total=0
for file in stats/*; do
	"$KF_CLI" report --metric=alloc -o out.folded "$file" 2>err ||
		fail "report: $(cat err)"
	! grep -q "outer calls\|beyond the table" out.folded ||
		fail "cut: $(grep -m 1 "outer calls\|beyond" out.folded)"
	# before main there is the start of the program and of its objects
	awk '{
		sub(/ [0-9]+$/, "")
		calls = split($0, frame, ";")
		deepest = calls > deepest ? calls : deepest
		if (/;main(;|$)/ || frame[1] ~ /^(_start|_dl_start)/)
			next
		print "not whole: " $0
		wrong++
	}
	END { print NR, "stacks of up to", deepest, "calls"; exit wrong }' \
		out.folded >said || fail "$(head -n 3 said)"
	cat said
	deep=$(sed -n 's/.*up to \([0-9]*\) calls/\1/p' said)
	[ "$deep" -le "$total" ] || total=$deep
done
[ "$total" -gt 35 ] || fail "no stack has more than $total calls"
