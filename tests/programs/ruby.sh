#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# ruby: strings, hashes, a collection, threads, fork.
. "$top_srcdir/tests/programs/same.sh"

needs ruby ruby
counts="ruby"

job()
{
	ruby -rzlib -e '
	h = Hash.new { |t, k| t[k] = [] }
	60000.times { |i| h[i % 997] << "item #{i}" * (i % 5) }
	puts h.size, Zlib.crc32(h.values.flatten.join)
	GC.start
	sums = 4.times.map { |t| Thread.new { (0..20000).sum { |i| (i * t).to_s.size } } }
	puts sums.map(&:value).inspect
	pids = 3.times.map { |n| fork { x = Array.new(5000) { |i| "y" * i }; exit!(x.size % 100 + n) } }
	pids.each { |pid| puts Process.wait2(pid)[1].exitstatus }'
}

same_result "$@"
