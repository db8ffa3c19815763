#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# g++: read and instantiate C++ made of the standard library's templates.
#
# Usage: g++.sh prepare | templates
# needs: g++ g++
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

if [ "$1" = prepare ]; then
	cat >"$BENCH_DATA/templates.cc" <<'END'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

template <int N> struct row {
	std::map<std::string, std::vector<std::tuple<int, double, char[N + 1]>>> by;
	std::unordered_map<int, std::function<int(int)>> f;
	std::shared_ptr<row<N - 1>> next = std::make_shared<row<N - 1>>();
	int run(const std::string &s)
	{
		std::vector<int> v(N + 10);
		std::sort(v.begin(), v.end(), [](int a, int b) { return a > b + N; });
		f[N] = [v](int x) { return x + int(v.size()); };
		return f[N](int(by[s].size())) + next->run(s);
	}
};
template <> struct row<0> {
	int run(const std::string &s) { return int(s.size()); }
};

int main(int argc, char **argv)
{
	std::regex re("(a|b)*c+[0-9]{2,3}");
	std::ostringstream out;
	for (int i = 1; i < argc; i++)
		out << std::regex_match(argv[i], re) << row<3>().run(argv[i]);
	std::cout << out.str();
}
END
	exit
fi
exec g++ -std=c++17 -fsyntax-only "$BENCH_DATA/templates.cc"
