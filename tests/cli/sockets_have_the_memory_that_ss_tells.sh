#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# explain tells what the kernel has in the queues of the sockets of a process:
# of a TCP connection and of Unix sockets that nobody reads, what ss says. Of a
# process in another network namespace it tells nothing.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
needs jq jq
needs ss iproute2
[ "$PYTHON3" != none ] || skip "python3 is not installed"

cd "$WORK"
cat >full.py <<'END'
import os, socket, sys

def fill(s):
    s.setblocking(False)
    sent = 0
    try:
        while True:
            sent += s.send(b"x" * 65536)
    except BlockingIOError:
        return sent

kept, sent = [], 0
if "tcp" in sys.argv:
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    two, _ = listener.accept()
    # the same socket again counts once
    kept += [listener, one, two, two.dup()]
    sent += fill(one)
if "udp" in sys.argv:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    for i in range(20):
        udp.sendto(b"y" * 1000, udp.getsockname())
    kept.append(udp)
    sent += 20000
if "unix" in sys.argv:
    pair = socket.socketpair()
    kept += pair
    sent += fill(pair[0])
print(sent, flush=True)
sys.stdin.read()
END

# begin ARG...: the program, with what it sent in $sent
begin() {
	rm -f in said
	mkfifo in
	run_under_exec "$@" <in >said 2>&1 7>&- &
	pid=$!
	at_exit "kill -9 $pid 2>/dev/null"
	exec 7>in
	wait_for 60 test -s said || fail "it does not start"
	sent=$(cat said)
}
finish() {
	exec 7>&-
	wait "$pid" || fail "the program failed: $(cat said)"
}
asks() {
	cli explain -w 0 --format=json -p "$pid" 2>err | jq '.[0].sockets_bytes'
}

# The counts of all sockets of the process, by their inodes.
told_by_ss() {
	find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n' |
		sort -u >inodes
	{
		ss -tuaneOm
		ss -xaneOm
	} >all
	awk 'NR == FNR { mine[$1]; next }
	{
		inode = 0
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^ino:/)
				inode = substr($i, 5)
			else if ($i in mine && $1 ~ /^u_/)
				inode = $i
		}
		if (!(inode in mine) || !match($0, /skmem:\([^)]*\)/))
			next
		n = split(substr($0, RSTART + 7, RLENGTH - 8), part, ",")
		r = t = w = o = bl = 0
		for (i = 1; i <= n; i++) {
			if (part[i] ~ /^r[0-9]/) r = substr(part[i], 2)
			if (part[i] ~ /^t[0-9]/) t = substr(part[i], 2)
			if (part[i] ~ /^w[0-9]/) w = substr(part[i], 2)
			if (part[i] ~ /^o[0-9]/) o = substr(part[i], 2)
			if (part[i] ~ /^bl[0-9]/) bl = substr(part[i], 3)
		}
		sum += r + (t + 0 > w + 0 ? t : w) + o + bl
	}
	END { print sum + 0 }' inodes all
}

for kind in tcp udp unix "tcp udp unix"; do
	# shellcheck disable=SC2086
	begin "$PYTHON3" full.py $kind
	kf_ss=$(told_by_ss)
	kf_got=$(asks)
	[ "$kf_got" -ge $((kf_ss * 95 / 100)) ] ||
		fail "$kind: $kf_got, ss says $kf_ss"
	[ "$kf_got" -le $((kf_ss * 105 / 100)) ] ||
		fail "$kind: $kf_got, ss says $kf_ss"
	[ "$kf_got" -ge "$sent" ] || fail "$kind: $kf_got for $sent bytes"
	expect 0 cli explain -w 0 -p "$pid"
	prints "sockets: the kernel's buffers"
	finish
done

begin "$PYTHON3" full.py
equal "memory without sockets" 0 "$(asks)"
finish

if unshare -rn true 2>/dev/null; then
	begin unshare -rn "$PYTHON3" full.py unix
	equal "memory in another namespace" null "$(asks)"
	expect 0 cli explain -w 0 -p "$pid"
	grep -q "sockets: the kernel's buffers  *-  *-" out ||
		fail "the table has a figure"
	finish
fi
