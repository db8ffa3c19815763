# SPDX-License-Identifier: LGPL-2.1-or-later
# From the output of "konfiscator ls --format=csv" make a line for each process
# that runs: number and name, with a tab between. The build inserts this program
# into the completions between single quotes.

BEGIN { FS = "," }

NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }

$at["state"] == "alive" { print $at["pid"] "\t" $at["process"] }
