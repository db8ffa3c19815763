#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Of a program that leaks in a container, and replaces more in a bounded one,
# explain says with the default samples which stack leaks: its first row, by the
# program's own function and not one of the C++ library; and that the other one
# churns. A process that has ended has no columns of growth.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs jq jq
workdir
# shellcheck source=tests/cli/cli.sh
. "$top_srcdir/tests/cli/cli.sh"
: "${CXX:=c++}"
needs "${CXX##* }" g++

cat >"$WORK/main.cpp" <<'END'
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include <unistd.h>

struct session {
	std::vector<char> body;
};

static std::unordered_map<long, std::unique_ptr<session>> sessions;
static std::deque<std::string> recent;

__attribute__((noinline)) static void keep_session(long id)
{
	auto s = std::make_unique<session>();
	s->body.resize(3000);
	sessions.emplace(id, std::move(s));
}

__attribute__((noinline)) static void note_request(long id)
{
	recent.emplace_back(4000, 'a' + id % 26);
	if (recent.size() > 2000)
		recent.pop_front();
}

int main()
{
	for (long i = 0;; i++) {
		keep_session(i);
		note_request(i);
		if (i % 20 == 0)
			usleep(10000);
	}
}
END
# shellcheck disable=SC2086 # words
$CXX -g -O2 -o "$WORK/server" "$WORK/main.cpp" || fail "no program"
unset KONFISCATOR_SAMPLE
run_under_exec "$WORK/server" &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
sleep 20

expect 0 cli explain --format=json -p "$pid"
# row FUNCTION FIELD: of the first stack that begins with it
row() {
	jq -r --arg name "$1" --arg field "$2" \
		'[.[0].stacks[] | select(.stack | startswith($name))][0][$field]' \
		"$WORK/out"
}
equal "verdict" leak "$(jq -r '.[0].verdict' "$WORK/out")"
first=$(jq -r '.[0].stacks[0].stack' "$WORK/out")
case $first in
keep_session*) ;;
*) fail "the first stack is $first" ;;
esac
equal "the leak" grows "$(row keep_session kind)"
equal "what is replaced" churns "$(row note_request kind)"
jq -e '[.[0].stacks[] | select(.stack | startswith("std::"))] == []' \
	"$WORK/out" >"$WORK/none" || fail "a stack begins in the library of C++"
expect 0 cli explain -p "$pid"
prints "GROWN"

kill -9 "$pid"
wait "$pid" 2>/dev/null || true
expect 0 cli post-mortem -p "$pid"
! grep -q GROWN "$WORK/out" || fail "what an ended process grew by is asked"
