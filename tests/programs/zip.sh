#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# zip and unzip: pack a tree, list it, test it, unpack it.
. "$top_srcdir/tests/programs/same.sh"

needs zip zip
needs unzip unzip
counts="zip unzip"

job()
{
	mkdir in && for f in $(seq 100); do seq "$((f * 50))" >"in/$f"; done
	zip -q -r -9 in.zip in
	unzip -tqq in.zip && echo fine
	unzip -Z1 in.zip | sort | tail -n 2
	mkdir out && unzip -q in.zip -d out && diff -r in out/in && echo same
}

same_result "$@"
