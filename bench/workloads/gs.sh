#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# gs: draw pages of text, lines and shades as bitmaps.
#
# Usage: gs.sh prepare | draw
# needs: gs ghostscript
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH

if [ "$1" = prepare ]; then
	cat >"$BENCH_DATA/pages.ps" <<'END'
%!PS
1 1 3 {
	/page exch def
	/Times-Roman findfont 9 scalefont setfont
	0 1 70 {
		dup 10 mul 40 add 30 exch moveto
		page mul 6 { dup 20 string cvs show ( words on a line ) show } repeat pop
	} for
	0 2 360 {
		gsave 300 400 translate rotate
		page 9 div 0.5 0.2 setrgbcolor
		0 0 moveto 100 50 200 -50 260 0 curveto stroke
		grestore
	} for
	0 1 80 {
		dup 80 div 0.3 1 sethsbcolor
		dup 5 mul 100 add exch 37 mul 500 mod 100 add 40 0 360 arc fill
	} for
	showpage
} for
END
	exit
fi
exec gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r150 \
	-dTextAlphaBits=4 -dGraphicsAlphaBits=4 -sOutputFile=out%d.ppm \
	"$BENCH_DATA/pages.ps"
