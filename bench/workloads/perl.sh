#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# perl: hashes and arrays of them; text.
#
# Usage: perl.sh prepare | hashes | text
# needs: perl perl
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0
export PERL_HASH_SEED=0

case $1 in
hashes)
	exec perl - <<'END'
use strict;
my (%by, @rows);
for my $i (1 .. 120000) {
	my $row = { id => $i, name => "name$i", list => [1 .. $i % 8] };
	push @{ $by{ $i % 4999 } }, $row;
	push @rows, $row;
}
my $sum = 0;
for my $key (sort keys %by) {
	$sum += $_->{id} + @{ $_->{list} } for @{ $by{$key} };
}
@rows = sort { $a->{name} cmp $b->{name} } @rows;
delete $by{$_} for 1 .. 2500;
die unless $sum > 0 and @rows == 120000;
END
	;;
text)
	exec perl - <<'END'
use strict;
my (%words, $text);
for my $i (1 .. 60000) {
	my $line = "$i the quick " . ("x" x ($i % 200)) . " fox " . $i * 7;
	$words{$_}++ for split / /, $line;
	$line =~ s/(\d+)/<$1>/g;
	$text .= join ":", reverse(split //, substr $line, 0, 20), "\n";
}
my @found = $text =~ /(>[^<]*)/g;
die unless $words{fox} == 60000 and @found;
END
	;;
esac
echo "perl.sh: no such work: $1" >&2
exit 2
