#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# The plot is an SVG that names every test and every peer; without matplotlib
# one line says what is missing, and nothing else changes.
# shellcheck source=tests/bench/bench.sh
. "${top_srcdir:?}/tests/bench/bench.sh"
workdir
export MPLCONFIGDIR="$WORK/mpl"

recorded=$top_srcdir/tests/bench/recorded.json
plot() {
	bench --load "$recorded" --plot "$WORK/plot.svg" >"$WORK/out" \
		2>"$WORK/err" || [ $? -eq 1 ] || fail "$(cat "$WORK/err")"
	cmp "$top_srcdir/tests/bench/recorded.golden" "$WORK/out"
}

# A module of this name that cannot be imported stands for a missing one.
mkdir "$WORK/none"
echo 'raise ImportError("planted")' >"$WORK/none/matplotlib.py"
PYTHONPATH=$WORK/none plot
equal "what is said without matplotlib" \
	"no plot: matplotlib is missing (python3-matplotlib)" \
	"$(cat "$WORK/err")"
[ ! -e "$WORK/plot.svg" ] || fail "there is a plot without matplotlib"

"$PYTHON3" -c 'import matplotlib' 2>/dev/null ||
	skip "matplotlib is missing (python3-matplotlib)"
plot
"$PYTHON3" - "$WORK/plot.svg" <<'END'
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
texts = {"".join(e.itertext()).strip()
         for e in root.iter("{http://www.w3.org/2000/svg}text")}
for name in "one", "two", "three", "alpha", "konfiscator":
    assert name in texts, (name, texts)
assert "four" not in texts, "a skipped test has a row"
END
