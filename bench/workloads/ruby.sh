#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ruby: objects and the garbage collector; strings, symbols and hashes.
#
# Usage: ruby.sh prepare | objects | strings
# needs: ruby ruby
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0

case $1 in
objects)
	exec ruby - <<'END'
Row = Struct.new(:id, :name, :list, :up)
rows = []
400_000.times do |i|
  row = Row.new(i, "name #{i}", Array.new(i % 10, i), rows[i / 2])
  rows << row if i % 3 == 0 || i < 1000
end
by = rows.compact.group_by { |r| r.list.size }
sum = by.sum { |k, v| v.map(&:name).sort.last.size + k }
GC.start
exit(sum > 0)
END
	;;
strings)
	exec ruby - <<'END'
words = Hash.new(0)
text = +""
25_000.times do |i|
  line = "#{i} the quick #{"x" * (i % 300)} brown fox #{i * 7919 % 1000}"
  line.split(" ").each { |w| words[w.upcase] += 1 }
  text << line.gsub(/\d+/) { |d| "<#{d}>" } << "\n"
end
parts = text.lines.map { |l| l.chomp.reverse.sub("kciuq", "slow" * 20) }
exit(words["FOX"] == 25_000 && parts.size == 25_000)
END
	;;
esac
echo "ruby.sh: no such work: $1" >&2
exit 2
