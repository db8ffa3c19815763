#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# gs: draw a page and make a bitmap and a PDF of it.
. "$top_srcdir/tests/programs/same.sh"

needs gs ghostscript
counts="gs"

job()
{
	cat >in.ps <<'END'
%!PS
/Times-Roman findfont 14 scalefont setfont
0 1 49 { dup 10 mul 72 exch 40 add moveto 20 string cvs show } for
0 3 360 { gsave 300 400 translate rotate 0 0 moveto 200 0 lineto stroke grestore } for
showpage
END
	gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=pgmraw -r72 -sOutputFile=- in.ps |
		cksum
	gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=pdfwrite -sOutputFile=out.pdf in.ps
	gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=txtwrite -sOutputFile=- out.pdf |
		tail -n 3
}

same_result "$@"
