#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs of many kinds are attached and detached again and again while they
# work: none ends, hangs or answers wrongly, and each is counted while it is
# attached. Redis brings jemalloc, nginx forks workers, java and node compile at
# run time, postgres serves pgbench, and 50 threads do nothing but allocate.
# What is not installed is left out and named. KF_ROUNDS is the number of rounds,
# KF_PROGRAMS chooses some of them.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
# shellcheck source=tests/attach/lib.sh
. "$top_srcdir/tests/attach/lib.sh"
needs gdb gdb
needs jq jq
workdir
rounds=${KF_ROUNDS:-2}
times=$WORK/times

# rounds_of NAME PID: attach, look, detach
rounds_of() {
	for kf_round in $(seq "$rounds"); do
		"$KF_CLI" attach --timeout=60 "$2" >>"$times" ||
			fail "$1: round $kf_round: attach"
		sleep 0.2
		counters "$2" "$WORK/counters"
		[ "$(jq '.[0].mallocs + .[0].unknown_frees' \
			"$WORK/counters")" -gt 0 ] ||
			fail "$1: round $kf_round: nothing was counted"
		"$KF_CLI" detach --timeout=60 "$2" >>"$times" ||
			fail "$1: round $kf_round: detach"
		kill -0 "$2" || fail "$1: round $kf_round: it ended"
	done
}

has() {
	command -v "$1" >/dev/null && return
	echo "left out: $1 is not installed"
	return 1
}

# end NAME PID [STATUS]: it ends as it should
end() {
	kill "$2"
	kf_status=0
	wait "$2" || kf_status=$?
	equal "$1: status" "${3:-143}" "$kf_status"
}

a_storm() {
	export KF_GO="$WORK/go"
	worker ""
	echo "storm 50" >&3
	sleep 0.5
	rounds_of storm "$worker"
	: >"$KF_GO"
	read -r answer <&4 || fail "the storm is gone"
	equal "the storm" ok "$answer"
	leave
}

a_python() {
	cat >"$WORK/p.py" <<-'EOF'
	import json, sys, time
	n = 0
	while True:
	    text = json.dumps([{"n": i, "t": "x" * i} for i in range(200)])
	    if len(json.loads(text)) != 200:
	        sys.exit("wrong")
	    time.sleep(0.001)
	EOF
	python3 "$WORK/p.py" &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	sleep 0.3
	rounds_of python3 "$pid"
	end python3 "$pid"
}

ping() {
	redis-cli -s "$WORK/redis" ping 2>/dev/null | grep -q PONG
}

a_redis() {
	redis-server --port 0 --unixsocket "$WORK/redis" --save '' \
		--dir "$WORK" >"$WORK/redis.log" &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	wait_for 60 ping || fail "redis does not answer"
	redis-benchmark -s "$WORK/redis" -l -r 1000 -n 10000 -q \
		-t set,get,lpush,lpop >"$WORK/bench" 2>&1 &
	bench=$!
	at_exit "kill $bench 2>/dev/null || :"
	rounds_of redis-server "$pid"
	kill -0 "$bench" || fail "redis-benchmark: $(tail -n 3 "$WORK/bench")"
	kill "$bench"
	redis-cli -s "$WORK/redis" set kf "$rounds" >"$WORK/set"
	equal "redis" "$rounds" "$(redis-cli -s "$WORK/redis" get kf)"
	end redis-server "$pid" 0
}

a_node() {
	cat >"$WORK/n.js" <<-'EOF'
	const kept = [];
	setInterval(() => {
		const b = Buffer.alloc(3000, "k");
		if (b.toString().length !== 3000) process.exit(7);
		kept.push(b);
		if (kept.length > 500) kept.length = 0;
	}, 1);
	EOF
	node "$WORK/n.js" &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	sleep 1
	rounds_of node "$pid"
	end node "$pid"
}

a_java() {
	cat >"$WORK/J.java" <<-'EOF'
	import java.nio.ByteBuffer;
	import java.util.ArrayList;
	public class J {
		public static void main(String[] a) throws Exception {
			ArrayList<ByteBuffer> kept = new ArrayList<>();
			while (true) {
				ByteBuffer b = ByteBuffer.allocateDirect(5000);
				b.put(4999, (byte) 7);
				kept.add(b);
				Thread.sleep(1);
				if (kept.size() < 300)
					continue;
				for (ByteBuffer k : kept)
					if (k.get(4999) != 7)
						System.exit(7);
				kept.clear();
			}
		}
	}
	EOF
	java -Xmx64m "$WORK/J.java" &
	pid=$!
	at_exit "kill $pid 2>/dev/null || :"
	sleep 3
	rounds_of java "$pid"
	end java "$pid"
}

serves() {
	curl -s --unix-socket "$WORK/nginx.sock" http://x/file |
		cmp -s - "$WORK/www/file"
}

ask_for_ever() {
	until [ -e "$WORK/enough" ]; do
		serves || { : >"$WORK/wrong"; break; }
	done
}

a_nginx() {
	mkdir -p "$WORK/www"
	seq 20000 >"$WORK/www/file"
	cat >"$WORK/nginx.conf" <<-EOF
	daemon off;
	user root;
	pid $WORK/nginx.pid;
	error_log $WORK/nginx.log;
	events { }
	http {
		access_log off;
		gzip on;
		server { listen unix:$WORK/nginx.sock; root $WORK/www; }
	}
	EOF
	chmod 0711 "$WORK"
	nginx -p "$WORK" -c "$WORK/nginx.conf" 2>"$WORK/nginx.err" &
	master=$!
	at_exit "kill $master 2>/dev/null || :"
	wait_for 60 serves || fail "nginx: $(cat "$WORK/nginx.err")"
	ask_for_ever &
	asker=$!
	at_exit ": >\"$WORK/enough\""
	pid=$(pgrep -P "$master" | head -n 1)
	rounds_of nginx "$pid"
	: >"$WORK/enough"
	wait "$asker"
	[ ! -e "$WORK/wrong" ] || fail "nginx answered wrongly"
	end nginx "$master" 0
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

a_postgres() {
	bin=$(dirname "$(readlink -f "$(command -v pgbench)")")
	initdb=$(command -v initdb || echo "$bin/initdb")
	[ -x "$initdb" ] || { echo "left out: initdb is not installed"; return; }
	mkdir "$WORK/pg"
	chmod 0711 "$WORK"
	[ "$(id -u)" != 0 ] || chown 65534 "$WORK/pg"
	export HOME="$WORK/pg"
	as_postgres "$initdb" -U kf -A trust -N "$WORK/pg/data" >"$WORK/initdb" 2>&1 || {
		echo "left out: initdb: $(tail -n 1 "$WORK/initdb")"
		return
	}
	as_postgres env TMPDIR=/tmp KONFISCATOR_DIR= postgres -D "$WORK/pg/data" -k "$WORK/pg" \
		-c listen_addresses= -c fsync=off >"$WORK/pg.log" 2>&1 &
	server=$!
	at_exit "end_postgres"
	wait_for 60 sql 'select 1' || fail "postgres: $(tail -n 3 "$WORK/pg.log")"
	as_postgres pgbench -h "$WORK/pg" -U kf -i -q postgres >"$WORK/pgbench" 2>&1 ||
		fail "pgbench: $(tail -n 3 "$WORK/pgbench")"
	as_postgres pgbench -h "$WORK/pg" -U kf -c 1 -T 100000 postgres \
		>"$WORK/pgbench" 2>&1 &
	bench=$!
	at_exit "kill $bench 2>/dev/null || :"
	sleep 1
	pid=$(sql "select pid from pg_stat_activity where application_name = 'pgbench'")
	rounds_of postgres "$pid"
	kill -0 "$bench" || fail "pgbench: $(tail -n 3 "$WORK/pgbench")"
	grep -qi 'error\|abort' "$WORK/pgbench" && fail "pgbench: $(cat "$WORK/pgbench")"
	sql "select pg_terminate_backend($pid)" >"$WORK/terminated"
	equal "postgres: sums" true "$(sql 'select (select sum(abalance) from
		pgbench_accounts) = (select sum(delta) from pgbench_history)' |
		sed 's/^t$/true/')"
	end_postgres
	wait "$server" || fail "postgres ended with $?"
}

for program in ${KF_PROGRAMS:-storm python redis node java nginx postgres}; do
	case $program in
	storm) a_storm ;;
	python) ! has python3 || a_python ;;
	redis) ! has redis-benchmark || a_redis ;;
	node) ! has node || a_node ;;
	java) ! has java || a_java ;;
	nginx) ! has nginx || a_nginx ;;
	postgres) ! has pgbench || a_postgres ;;
	*) fail "KF_PROGRAMS: there is no '$program'" ;;
	esac
done
cat "$times"
