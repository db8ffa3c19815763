#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# curl: several transfers at once from a server that also runs on the library.
. "$top_srcdir/tests/programs/same.sh"

needs curl curl
needs python3 python3
counts="curl python3"

job()
{
	mkdir www && seq 200000 >www/big && echo small >www/small
	"${PYTHON3:-python3}" -c '
import functools, http.server
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory="www")
h.func.log_message = lambda *a: None
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
open("port.new", "w").write(str(s.server_port))
__import__("os").rename("port.new", "port")
s.serve_forever()' &
	server=$!
	trap 'kill $server 2>/dev/null' EXIT
	for _ in $(seq 200); do
		[ ! -f port ] || break
		sleep 0.1
	done
	at=http://127.0.0.1:$(cat port)
	curl -sS --parallel -o 1 "$at/big" -o 2 "$at/big" -o 3 "$at/small" \
		2>/dev/null
	cksum 1 2 3
	curl -sS -w '%{http_code} %{content_type}\n' -o /dev/null "$at/none"
	curl -sS "file://$PWD/www/small" file://"$PWD"/none 2>&1
	echo "status $?"
}

same_result "$@"
