#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh DIRECTORY [-DLARGE]: has spin look at every state of each model
# beside this file, and then at each defect that a model has to plant, which
# must be found. Works in DIRECTORY.
set -eu

models=$(cd "$(dirname "$0")" && pwd)
cd "$1"
shift
optimise=-O0
case " $* " in
*' -DLARGE '*) optimise=-O2 ;;
esac
checked=0
found=0

# search MODEL -D...: what the search says, in the file "said".
search()
{
	model=$1
	shift
	spin -a "$@" "$models/$model.pml" >translated ||
		{ cat translated; exit 1; }
	${CC:-cc} $optimise -w -DSAFETY -DCOLLAPSE -o pan pan.c
	./pan -m1000000 >said 2>&1
}

for file in "$models"/*.pml; do
	model=$(basename "$file" .pml)
	search "$model" "$@"
	if grep -q 'errors: [^0]\|max search depth too small\|out of memory' \
		said || ! grep -q 'errors: 0' said; then
		cat said
		spin -t -p "$@" "$file" | tail -n 60
		echo "FAIL: $model does not hold"
		exit 1
	fi
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' said)
	echo "$model holds in all $states states"
	checked=$((checked + 1))

	# shellcheck disable=SC2013 # names, without blanks
	for plant in $(grep -o 'PLANT_[A-Z_]*[A-Z]' "$file" | sort -u); do
		search "$model" "-D$plant"
		grep -q 'errors: 1' said ||
			{ cat said; echo "FAIL: $model: $plant is not found"; exit 1; }
		found=$((found + 1))
	done
done
[ "$checked" -gt 0 ] && [ "$found" -gt 0 ]
echo "$checked models hold, $found planted defects are found"
