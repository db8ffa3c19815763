#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# node: a heap that is collected, buffers, workers, a child.
. "$top_srcdir/tests/programs/same.sh"

needs node nodejs
counts="node"

job()
{
	# shellcheck disable=SC2016
	node -e '
	const crypto = require("crypto"), zlib = require("zlib");
	const { Worker } = require("worker_threads");
	let live = new Map();
	for (let i = 0; i < 200000; i++) live.set(i % 5000, { i, s: "v" + i });
	console.log(live.size, live.get(4999).s);
	const b = Buffer.concat(Array.from({ length: 2000 },
		(_, i) => Buffer.alloc(i, i & 255)));
	console.log(b.length,
		crypto.createHash("sha256").update(b).digest("hex"));
	console.log(zlib.gunzipSync(zlib.gzipSync(b)).equals(b));
	let left = 3, sum = 0;
	for (let n = 1; n <= 3; n++)
		new Worker("const {parentPort: p} = require(`worker_threads`);" +
			"p.postMessage(Array.from({length: 50000}, (_, i) => i)" +
			".reduce((a, b) => a + b, 0))", { eval: true })
			.on("message", m => { sum += m; })
			.on("exit", () => { if (--left == 0) console.log(sum); });
	'
}

same_result "$@"
