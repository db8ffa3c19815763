#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# report --serve serves the page of report -o FILE.html on a loopback port, to
# programs of its own user alone and under a name of this machine alone, opens it
# where there is a display, and ends by a signal.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"
. "$top_srcdir/tests/cli/profile.sh"

cd "$WORK"
stacks_begin
stacks leaky 20000000 0 64
cp stats/mkstacks.1 profile
expect 0 "$KF_CLI" report -o page.html profile

cat >get.py <<'END'
import http.client, os, re, socket, sys
port, page = int(sys.argv[1]), open("page.html", "rb").read()
def ask(method="GET", path="/", **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, headers=headers)
    r = c.getresponse()
    return r.status, r.headers["Content-Type"], r.read()
# connections that say nothing are in nobody's way for long, nor is one that says
# too much
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
long = socket.create_connection(("127.0.0.1", port))
long.sendall(b"GET /" + b"x" * 20000)
status, kind, body = ask()
assert status == 200 and kind == "text/html; charset=utf-8", (status, kind)
# the program goes on living
timeless = [re.sub(rb"\b[0-9.]+ s\b", b"", text) for text in (body, page)]
assert timeless[0] == timeless[1], (len(body), len(page))
assert ask("HEAD")[::2] == (200, b"")
assert ask(Host="localhost:1")[0] == 200
assert ask(Host="[::1]:%d" % port)[0] == 200
assert ask(Host="[::1].evil.example")[0] == 421
assert ask(Host="evil.example")[0] == 421
assert ask(Host="127.0.0.1.evil.example:%d" % port)[0] == 421
assert ask("POST")[0] == 405
for path in "/x", "/page.html", "/../profile", "//", "*":
    assert ask(path=path)[0] == 404, path
if os.geteuid() == 0:
    os.setuid(1000000000 + os.getpid())
    try:
        status = ask()[0]
    except (OSError, http.client.HTTPException):
        status = None
    assert status is None, "the page is served to another user"
END

# serve COMMAND...: start it; its port is in $port
serve() {
	: >err # of the last one
	"$@" >out 2>err &
	server=$!
	at_exit "kill $server 2>/dev/null"
	wait_for 60 grep -q 'until Ctrl-C' err || fail "no address: $(cat err)"
	port=$(sed -n 's|^konfiscator: report: http://127.0.0.1:\([0-9]*\)/ until Ctrl-C$|\1|p' err)
	[ -n "$port" ] || fail "no port: $(cat err)"
}

ended() {
	kill -TERM "$server" # a shell has its children in the background ignore SIGINT
	wait "$server" || fail "SIGTERM is status $?"
	[ ! -s out ] || fail "something is on stdout"
}

serve "$KF_CLI" report --serve profile
"$PYTHON3" get.py "$port" || fail "the page is not served as it should be"
expect 1 "$KF_CLI" report --listen="$port" profile
says "report: --serve: cannot listen on 127.0.0.1:$port: Address already in use"
ended
serve "$KF_CLI" report --serve --listen="localhost:$port" profile
"$PYTHON3" get.py "$port" || fail "the page is not served on a port"
ended

# nohup: the terminal's end is not the server's
serve nohup "$KF_CLI" report --serve profile
kill -HUP "$server"
"$PYTHON3" get.py "$port" || fail "SIGHUP ends a server that ignores it"
ended

# a browser is started where there is a display, but not as root
mkdir bin
cat >bin/xdg-open <<'END'
#!/bin/sh
echo "$1" >opened.new && mv opened.new opened
END
chmod 755 bin/xdg-open
user=
if [ "$(id -u)" = 0 ]; then
	needs setpriv util-linux
	chmod 755 "$WORK"
	chmod 777 .
	user="setpriv --reuid=$((1000000000 + $$)) --clear-groups"
fi
# shellcheck disable=SC2086
serve env DISPLAY=:77 PATH="$PWD/bin:$PATH" $user "$KF_CLI" report --serve profile
wait_for 60 test -e opened || fail "nothing was opened"
equal "what is opened" "$(cat opened)" "http://127.0.0.1:$port/"
ended
rm opened
serve env -u DISPLAY -u WAYLAND_DISPLAY PATH="$PWD/bin:$PATH" "$KF_CLI" \
	report --serve profile
ended
[ ! -e opened ] || fail "a browser is started without a display"
stacks_end

for wrong in 0.0.0.0:80 10.0.0.1:80 '[::1]:80' 127.0.0.1:65536 :80 127.0.0.1: x ''; do
	expect 2 "$KF_CLI" report --listen="$wrong" profile
	says "report: --listen: '$wrong' is not a port of the loopback"
done
expect 2 "$KF_CLI" report --serve -o x.html profile
says "report: --serve and -o exclude each other"
expect 2 "$KF_CLI" report --serve --view=tree profile
says "report: --serve and --view (or --leaks) exclude each other"
expect 0 "$KF_CLI" run --record="$WORK/recording" -- true
expect 2 "$KF_CLI" report --serve "$WORK/recording"
says "report: --serve is for profiles, but this is a recording"
