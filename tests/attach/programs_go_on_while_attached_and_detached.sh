#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# Programs of many kinds are attached and detached again and again while they
# work: none ends, hangs or answers wrongly, their clients see no error, and each
# is counted while it is attached. Redis brings jemalloc and forks to save,
# postgres serves pgbench, python makes a thread for each connection, node and
# java compile at run time, and 50 threads do nothing but allocate. Of nginx and
# postgres a child is attached, and the parent, which forks while it is attached.
# What is not installed is left out and named. KF_ROUNDS is the number of rounds,
# KF_PROGRAMS chooses some of them. A round without a safe point in time counts
# as refused.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
needs jq jq
needs curl curl
workdir
rounds=${KF_ROUNDS:-2}
no_point='no thread reached a safe point'

# Called in each round while the process is attached.
during=:

has() {
	command -v "$1" >/dev/null && return
	echo "left out: $1 is not installed"
	return 1
}

was_counted() {
	counters "$1" "$WORK/counters"
	[ "$(jq '.[0].mallocs + .[0].unknown_frees' "$WORK/counters")" -gt 0 ]
}

# change WHAT PID: attach or detach; false where there was no safe point
change() {
	"$KF_CLI" "$1" --timeout=60 "$2" >>"$WORK/times" 2>"$WORK/no" && return
	grep -q "$no_point" "$WORK/no" ||
		fail "$name: round $kf_round: $(cat "$WORK/no")"
	refused=$((refused + 1))
	return 1
}

# spread WHAT FIELD FACTOR: median and maximum of a number of the lines
spread() {
	awk -v what="$1" -v field="$2" -v factor="$3" '
		$1 == what { printf "%.0f\n", $(NF - field) * factor }' \
		"$WORK/times" | sort -n |
		awk '{ v[NR] = $1 }
		END { printf "%d, %d", v[int((NR + 1) / 2)], v[NR] }'
}

# rounds_of NAME PID: attach, look, detach
rounds_of() {
	name=$1 refused=0
	: >"$WORK/times"
	for kf_round in $(seq "$rounds"); do
		change attach "$2" || continue
		$during
		wait_for 60 was_counted "$2" ||
			fail "$name: round $kf_round: nothing was counted"
		change detach "$2" || change detach "$2" ||
			fail "$name: round $kf_round: it cannot be detached"
		kill -0 "$2" || fail "$name: round $kf_round: it ended"
	done
}

# report ERRORS: a line of the table, after the last answer
report() {
	echo "| $name | $rounds | $refused | $(spread attached 7 1000) |" \
		"$(spread attached 1 1) | $(spread detached 1 1) | $1 |" \
		>>"$WORK/table"
	equal "$name: errors of its clients" 0 "$1"
}

# end PID [STATUS]: it ends as it should
end() {
	kill "$1"
	kf_status=0
	wait "$1" || kf_status=$?
	equal "$name: status" "${2:-143}" "$kf_status"
}

a_storm() {
	export KF_GO="$WORK/go"
	worker ""
	echo "storm 50" >&3
	sleep 0.5
	rounds_of "50 threads" "$worker"
	: >"$KF_GO"
	read -r answer <&4 || fail "the storm is gone"
	equal "the storm" ok "$answer"
	leave
	report 0
}

# What a server says to each request; its clients are wrk, if it is there, and
# one that compares.
ask() {
	curl -s --max-time 60 "$url"
}

asks_for_ever() {
	until [ -e "$WORK/enough" ]; do
		ask | cmp -s - "$WORK/first" || echo wrong >>"$WORK/wrong"
	done
}

# clients PORT: they begin
clients() {
	url=http://127.0.0.1:$1/
	rm -f "$WORK/enough"
	: >"$WORK/wrong"
	wait_for 60 curl -s -f -o "$WORK/first" "$url" || fail "no answer at $url"
	[ -s "$WORK/first" ] || fail "an empty answer at $url"
	asks_for_ever &
	asker=$!
	at_exit ": >\"$WORK/enough\""
	wrk=
	! has wrk || {
		wrk -t 1 -c 4 -d 100000 --timeout 60 "$url" >"$WORK/wrk" 2>&1 &
		wrk=$!
		at_exit "kill $wrk 2>/dev/null || :"
	}
}

# no_clients: they end; $errors is what they saw
no_clients() {
	: >"$WORK/enough"
	wait "$asker"
	errors=$(grep -c . "$WORK/wrong" || :)
	[ -n "$wrk" ] || return 0
	kill -INT "$wrk"
	wait "$wrk" || fail "$name: wrk: $(tail -n 3 "$WORK/wrk")"
	grep -q 'requests in' "$WORK/wrk" || fail "$name: $(cat "$WORK/wrk")"
	errors=$((errors + $(awk '/Socket errors/ { gsub(",", "");
		n += $4 + $6 + $8 + $10 } /Non-2xx/ { n += $NF }
		END { print n + 0 }' "$WORK/wrk")))
}

# server NAME CMD...: it writes its port to a file, and is attached
server() {
	name=$1
	shift
	rm -f "$WORK/port"
	"$@" >"$WORK/server.log" 2>&1 &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	wait_for 60 test -s "$WORK/port" ||
		fail "$name: $(tail -n 3 "$WORK/server.log")"
	clients "$(cat "$WORK/port")"
	rounds_of "$name" "$pid"
	no_clients
	end "$pid"
	report "$errors"
}

a_python() {
	cat >"$WORK/p.py" <<-'EOF'
	import http.server, json, os, sys
	class Answer(http.server.BaseHTTPRequestHandler):
	    protocol_version = "HTTP/1.1"
	    def do_GET(self):
	        text = json.dumps([{"n": i, "t": "x" * i} for i in range(200)])
	        body = json.dumps(json.loads(text)).encode()
	        self.send_response(200)
	        self.send_header("Content-Length", str(len(body)))
	        self.end_headers()
	        self.wfile.write(body)
	    def log_message(self, *_):
	        pass
	s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
	with open(sys.argv[1] + "~", "w") as f:
	    f.write(str(s.server_port))
	os.rename(sys.argv[1] + "~", sys.argv[1])
	s.serve_forever()
	EOF
	# Debian's, if there is another one before it
	python=/usr/bin/python3
	[ -x "$python" ] || python=python3
	server python3 "$python" "$WORK/p.py" "$WORK/port"
}

a_node() {
	cat >"$WORK/n.js" <<-'EOF'
	const fs = require("fs"), kept = [];
	const s = require("http").createServer((request, response) => {
		const b = Buffer.alloc(3000, "k");
		kept.push(b);
		if (kept.length > 500)
			kept.length = 0;
		response.end(JSON.stringify(b.toString().split("")));
	});
	s.listen(0, "127.0.0.1", () => {
		fs.writeFileSync(process.argv[2] + "~", "" + s.address().port);
		fs.renameSync(process.argv[2] + "~", process.argv[2]);
	});
	EOF
	server node node "$WORK/n.js" "$WORK/port"
}

a_java() {
	cat >"$WORK/J.java" <<-'EOF'
	import com.sun.net.httpserver.HttpServer;
	import java.net.InetSocketAddress;
	import java.nio.ByteBuffer;
	import java.nio.file.*;
	import java.util.ArrayList;
	import java.util.concurrent.Executors;
	public class J {
		public static void main(String[] a) throws Exception {
			HttpServer s = HttpServer.create(
				new InetSocketAddress("127.0.0.1", 0), 0);
			s.setExecutor(Executors.newFixedThreadPool(4));
			s.createContext("/", x -> {
				ArrayList<ByteBuffer> kept = new ArrayList<>();
				long sum = 0;
				for (int i = 0; i < 50; i++) {
					ByteBuffer b = ByteBuffer.allocateDirect(5000);
					b.put(4999, (byte) i);
					kept.add(b);
				}
				for (ByteBuffer b : kept)
					sum += b.get(4999);
				byte[] text = ("sum " + sum).getBytes();
				x.sendResponseHeaders(200, text.length);
				x.getResponseBody().write(text);
				x.close();
			});
			s.start();
			Path to = Path.of(a[0]), part = Path.of(a[0] + "~");
			Files.writeString(part, "" + s.getAddress().getPort());
			Files.move(part, to);
		}
	}
	EOF
	server java java -Xmx64m "$WORK/J.java" "$WORK/port"
}

reload() {
	kill -HUP "$master"
}

# nginx_with NAME SETTING: the workers' parent is $master
nginx_with() {
	name=$1
	mkdir -p "$WORK/www"
	seq 20000 >"$WORK/www/index.html"
	port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	cat >"$WORK/nginx.conf" <<-EOF
	daemon off;
	worker_processes 2;
	pid $WORK/nginx.pid;
	error_log $WORK/nginx.log;
	events { }
	http {
		access_log off;
		gzip on;
		$2
		server { listen 127.0.0.1:$port; root $WORK/www; }
	}
	EOF
	chmod 0711 "$WORK"
	nginx -p "$WORK" -c "$WORK/nginx.conf" 2>"$WORK/nginx.err" &
	master=$!
	at_exit "kill $master 2>/dev/null || :"
	clients "$port"
}

no_nginx() {
	no_clients
	end "$master" 0
	report "$errors"
}

a_nginx() {
	nginx_with nginx ''
	rounds_of "nginx, worker" "$(pgrep -P "$master" | head -n 1)"
	no_nginx
}

# A reload closes the connections that are kept, which a client may see as an
# error: each request has its own.
a_nginx_parent() {
	nginx_with nginx 'keepalive_timeout 0;'
	during=reload
	rounds_of "nginx, parent" "$master"
	during=:
	no_nginx
}

cli() {
	redis-cli -s "$WORK/redis" "$@"
}

ping() {
	cli ping 2>/dev/null | grep -q PONG
}

save() {
	cli bgsave >"$WORK/bgsave" 2>&1 || :
}

a_redis() {
	redis-server --port 0 --unixsocket "$WORK/redis" --save '' \
		--dir "$WORK" >"$WORK/redis.log" &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	wait_for 60 ping || fail "redis does not answer"
	seq 5000 | sed 's/.*/RPUSH kf value-&/' | cli >"$WORK/pushed"
	cli lrange kf 0 -1 >"$WORK/first"
	redis-benchmark -s "$WORK/redis" -l -r 1000 -n 10000 -q \
		-t set,get,lpush,lpop >"$WORK/bench" 2>&1 &
	bench=$!
	at_exit "kill $bench 2>/dev/null || :"
	during=save
	rounds_of redis-server "$pid"
	during=:
	kill "$bench" || fail "redis-benchmark: $(tail -n 3 "$WORK/bench")"
	errors=$(tr '\r' '\n' <"$WORK/bench" | grep -ci error || :)
	cli lrange kf 0 -1 | cmp - "$WORK/first" || fail "redis: wrong values"
	cli info persistence | grep -q 'rdb_last_bgsave_status:ok' ||
		fail "redis: a save failed"
	end "$pid" 0
	report "$errors"
}

as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

sql() {
	as_postgres psql -h "$WORK/pg" -d postgres -U kf -At -c "$1" 2>/dev/null
}

# The first line of the file is its pid; what is started is a shell's child.
end_postgres() {
	kf_pid=$(head -n 1 "$WORK/pg/data/postmaster.pid" 2>/dev/null) ||
		return 0
	kill -INT "$kf_pid" || :
}

# bench_postgres OPTION...: a fresh cluster under pgbench; false: left out
bench_postgres() {
	bin=$(dirname "$(readlink -f "$(command -v pgbench)")")
	initdb=$(command -v initdb || echo "$bin/initdb")
	postgres=$(command -v postgres || echo "$bin/postgres")
	rm -rf "$WORK/pg"
	mkdir "$WORK/pg"
	chmod 0711 "$WORK"
	[ "$(id -u)" != 0 ] || chown 65534 "$WORK/pg"
	export HOME="$WORK/pg"
	as_postgres "$initdb" -U kf -A trust -N "$WORK/pg/data" \
		>"$WORK/initdb" 2>&1 || {
		echo "left out: initdb: $(tail -n 1 "$WORK/initdb")"
		return 1
	}
	as_postgres env -u KONFISCATOR_KEEP TMPDIR=/tmp KONFISCATOR_DIR= \
		"$postgres" -D "$WORK/pg/data" -k "$WORK/pg" \
		-c listen_addresses= -c fsync=off >"$WORK/pg.log" 2>&1 &
	server=$!
	at_exit "end_postgres"
	wait_for 60 sql 'select 1' >"$WORK/one" ||
		fail "postgres: $(tail -n 3 "$WORK/pg.log")"
	as_postgres pgbench -h "$WORK/pg" -U kf -i -q postgres \
		>"$WORK/pgbench" 2>&1 ||
		fail "pgbench: $(tail -n 3 "$WORK/pgbench")"
	as_postgres pgbench -h "$WORK/pg" -U kf -c 1 -T 100000 "$@" postgres \
		>"$WORK/pgbench" 2>&1 &
	bench=$!
	at_exit "kill $bench 2>/dev/null || :"
	sleep 1
}

no_postgres() {
	kill "$bench" || fail "pgbench: $(tail -n 3 "$WORK/pgbench")"
	errors=$(grep -ci 'error\|abort\|fatal' "$WORK/pgbench" || :)
	sql "select pg_terminate_backend(pid) from pg_stat_activity
		where application_name = 'pgbench'" >"$WORK/terminated"
	equal "postgres: sums" t "$(sql 'select (select sum(abalance) from
		pgbench_accounts) = (select sum(delta) from pgbench_history)')"
	end_postgres
	wait "$server" || fail "postgres ended with $?"
	if grep 'terminated by signal\|PANIC' "$WORK/pg.log"; then
		fail "postgres lost a process"
	fi
	report "$errors"
}

a_postgres() {
	bench_postgres || return 0
	rounds_of "postgres, backend" "$(sql "select pid from pg_stat_activity
		where application_name = 'pgbench'")"
	no_postgres
}

# Each transaction has a backend of its own.
a_postgres_parent() {
	bench_postgres -C || return 0
	rounds_of "postgres, parent" \
		"$(head -n 1 "$WORK/pg/data/postmaster.pid")"
	no_postgres
}

for program in ${KF_PROGRAMS:-storm python redis node java nginx nginx_parent \
	postgres postgres_parent}; do
	case $program in
	storm) a_storm ;;
	python) ! has python3 || a_python ;;
	redis) ! has redis-benchmark || a_redis ;;
	node) ! has node || a_node ;;
	java) ! has java || a_java ;;
	nginx | nginx_parent) ! has nginx || "a_$program" ;;
	postgres | postgres_parent) ! has pgbench || "a_$program" ;;
	*) fail "KF_PROGRAMS: there is no '$program'" ;;
	esac
done
echo "median and maximum, ms:"
echo "| program | rounds | refused | attach | stopped by attach | by detach | errors |"
echo "|---|---:|---:|---:|---:|---:|---:|"
cat "$WORK/table"
