#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# perl: hashes, sorting, regular expressions, fork.
. "$top_srcdir/tests/programs/same.sh"

needs perl perl
counts="perl"

job()
{
	perl -e '
	use strict; use warnings;
	my %h;
	$h{$_ % 7919} .= "line $_\n" for 1 .. 60000;
	my @sorted = sort { length $h{$a} <=> length $h{$b} || $a <=> $b } keys %h;
	print scalar(@sorted), " $sorted[0] $sorted[-1]\n";
	my $text = join "", map { $h{$_} } @sorted;
	my $n = () = $text =~ /line (\d*7\d*)\n/g;
	print length($text), " $n\n";
	$| = 1;
	for my $child (1 .. 5) {
		my $pid = fork // die;
		if (!$pid) {
			my @a = map { "x" x $_ } 1 .. 500 * $child;
			exit(@a % 251);
		}
		waitpid $pid, 0;
		print "child $child: ", $? >> 8, "\n";
	}'
}

same_result "$@"
