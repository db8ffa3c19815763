#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tar and gzip: pack a tree of many names, list it, unpack it.
. "$top_srcdir/tests/programs/same.sh"

needs tar tar
needs gzip gzip
counts="tar gzip"

job()
{
	for d in $(seq 40); do
		mkdir -p "in/directory-$d"
		for f in $(seq 10); do
			seq "$((d * f))" >"in/directory-$d/file-$f"
		done
	done
	tar --sort=name --mtime=@0 --owner=0 --group=0 -czf in.tgz in
	gzip -dc in.tgz | cksum
	tar -tzf in.tgz | tail -n 3
	mkdir out && tar -C out -xzf in.tgz && diff -r in out/in && echo same
}

same_result "$@"
