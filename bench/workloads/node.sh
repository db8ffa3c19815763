#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# node: documents, buffers, compression, maps.
#
# Usage: node.sh prepare | documents
# needs: node nodejs
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0

exec node - <<'END'
const zlib = require("zlib");
let rows = [];
for (let i = 0; i < 30000; i++)
	rows.push({ id: i, name: "name" + i, list: Array(i % 12).fill(i) });
for (let i = 0; i < 4; i++)
	rows = JSON.parse(JSON.stringify(rows));
const by = new Map();
let bytes = 0;
for (const row of rows) {
	by.set(row.name, Buffer.from(JSON.stringify(row)));
	bytes += Buffer.alloc(row.id % 5000, 1).length;
}
for (let i = 0; i < 12; i++) {
	const all = Buffer.concat([...by.values()].slice(i * 1000));
	bytes += zlib.inflateSync(zlib.deflateSync(all, { level: 1 })).length;
}
process.exit(rows.length === 30000 && bytes > 0 ? 0 : 1);
END
