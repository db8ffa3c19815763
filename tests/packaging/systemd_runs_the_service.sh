#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A Debian with systemd boots in a machine with the packages of ./deb: the service
# runs as its own user with no rights but one, under the filter of system calls
# and all else that its unit takes away, and Landlock; it serves, reads its rules again and
# keeps its counts over a restart, and its socket starts it. `konfiscator enable`
# brings hardened services under the library: Debian's redis-server, and one with
# a user of its own for the time that it runs and a preload of its own. For
# `make check-deb`, which makes the packages first.
# limit: 3000
. "${top_srcdir:?}/tests/lib.sh"
. "$top_srcdir/tests/packaging/base.sh"

workdir
need qemu-system-x86_64 unshare
clean_debian
ls "$top_builddir"/deb/*.deb >/dev/null || fail "there are no packages in ./deb"
status=0
root=$(sh "$top_srcdir/tests/vm/vm" root trixie 2>"$WORK/err") || status=$?
[ "$status" -ne 77 ] || skip "there is no kernel: $(cat "$WORK/err")"
[ "$status" -eq 0 ] || fail "vm root: $(cat "$WORK/err")"

top=$WORK/top
cp -a "$base" "$top"
cp /etc/resolv.conf "$top/etc/"
mkdir -p "$top/debs" "$top/kf/job"
cp "$top_builddir"/deb/*.deb "$top/debs/"
rm -f "$top"/debs/*-dbgsym_*
# shellcheck disable=SC2016 # the inner shells'
unshare -m sh -c 'mount -t proc proc "$1/proc" && chroot "$1" /usr/bin/env -i \
	PATH=/usr/sbin:/usr/bin DEBIAN_FRONTEND=noninteractive sh -c "
		apt-get -qq update && apt-get -qq -y --no-install-recommends \
			install systemd-sysv curl redis-server /debs/*.deb"' \
	install "$top" >"$WORK/apt" 2>&1 </dev/null ||
	fail "they do not install: $(tail -n 20 "$WORK/apt")"

# What happens in the machine: each line that is said is a name and a value.
printf '#!/bin/sh\nexec /sbin/init\n' >"$top/kf/job/init"
cat >"$top/usr/local/sbin/look" <<'END'
#!/bin/sh
exec 2>/errors
service=konfiscator_exporter.service
say() {
	echo "$*" >>/said
}
served() {
	curl -s -m 60 -o /page "http://127.0.0.1:10170$1" && grep -Eq "$2" /page
}
until_served() {
	for second in $(seq 100); do
		if served "$@"; then
			return 0
		fi
		sleep 1
	done
	return 1
}
counts() {
	sed -n 's/^konfiscator_malloc_total{.*"sort".*} //p' /page
}
konfiscator run -- sleep 1000 &
konfiscator run -- sort /etc/passwd >/dev/null
until_served /metrics '^konfiscator_processes\{.*"sort".*\} 0'
say sort "$(counts)"
served /metrics '^konfiscator_processes\{.*"sleep".*\} 1' && say sleep 1
say active "$(systemctl is-active $service)"
pid=$(systemctl show -p MainPID --value $service)
say user "$(stat -c '%U %G' "/proc/$pid")"
say rights "$(sed -n 's/^CapEff:[^0-9a-f]*0*//p' "/proc/$pid/status")"
say filter "$(sed -n 's/^Seccomp:[^0-9]*//p' "/proc/$pid/status")"
cat /etc/asleep.yml /etc/rules.yml.part >/etc/rules.yml
systemctl reload $service
until_served /metrics '^konfiscator_processes\{process="asleep".*\} 1' &&
	say reload asleep
systemctl restart $service
until_served /metrics '^konfiscator_malloc_total\{.*"sort"'
say sort_again "$(counts)"
systemctl stop $service
systemctl enable --now konfiscator_exporter.socket
served / '<title>' && say socket page
say restarts "$(systemctl show -p NRestarts --value $service)"
say failed "$(systemctl list-units --failed --no-legend 'konf*' | wc -l)"
# The words of a unit's line in the status, and what is left to do.
status_of() {
	konfiscator status --format=csv --no-header "$1" | tr -d '"'
}
# A service of type simple is started before its program is.
until_status() {
	for second in $(seq 100); do
		[ "$(status_of "$1")" != "$2" ] || break
		sleep 1
	done
	status_of "$1"
}
redis=redis-server.service
say loaded "$(systemctl show -p ActiveState --value $redis)"
konfiscator enable $redis sample=64K >/enabled
say enable "$(sed -n 's/.*restarted: //p' /enabled)"
say unrestarted "$(status_of $redis)"
systemctl restart $redis
say redis "$(status_of $redis)"
pid=$(systemctl show -p MainPID --value $redis)
say redis_filter "$(sed -n 's/^Seccomp:[^0-9]*//p' "/proc/$pid/status")"
say redis_file "$(find /run/konfiscator -name "redis-server.$pid.*" | wc -l)"
redis-cli set key value >/dev/null
konfiscator stat -p "$pid" --format=json >/redis.json
say redis_calls "$(sed -n 's/^ *"mallocs": \([0-9]*\).*/\1/p' /redis.json)"
konfiscator disable redis-server >/disabled
say disabled "$(status_of $redis)"
systemctl restart $redis
say redis_without "$(status_of $redis)"

konfiscator enable guest@one >/dev/null
systemctl start guest@one.service guest@two.service
say guest_one "$(until_status guest@one guest@one.service,yes,1,1,0,)"
pid=$(systemctl show -p MainPID --value guest@one.service)
say guest "$(tr '\0' '\n' <"/proc/$pid/environ" |
	sed -n 's/^LD_PRELOAD=.*libkonfiscator.so.1:/others /p')"
say guest_file "$(find /run/konfiscator -name "sleep.$pid.*" | wc -l)"
say guest_mapped "$(grep -c 'r-xp.*libm.so.6' "/proc/$pid/maps")"
konfiscator enable guest@ >/template
say template "$(sed -n 's/.*restarted: //p' /template)"
systemctl restart 'guest@*'
say guests "$(until_status guest@ guest@.service,yes,2,2,0,)"
say enabled "$(konfiscator status --no-header | awk '{ print $1 }' | tr '\n' ' ')"
journalctl --no-pager -u $service -u $redis -u 'guest@*' >/journal
say done
sync
systemctl poweroff --force
END
echo 'ARGS="--config.file=/etc/rules.yml"' \
	>"$top/etc/default/konfiscator_exporter"
cat >"$top/etc/asleep.yml" <<'END'
process_names:
  - name: asleep
    comm: [sleep]
END
printf '  - name: "{{.Comm}}"\n    cmdline: [.]\n' >"$top/etc/rules.yml.part"
(echo process_names: && cat "$top/etc/rules.yml.part") >"$top/etc/rules.yml"
chmod +x "$top/kf/job/init" "$top/usr/local/sbin/look"
cat >"$top/etc/systemd/system/look.service" <<'END'
[Unit]
After=konfiscator_exporter.service
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/look
TimeoutStartSec=infinity
END
cat >"$top/etc/systemd/system/guest@.service" <<'END'
[Service]
ExecStart=/usr/bin/sleep 1000
Environment=LD_PRELOAD=libm.so.6
DynamicUser=yes
ProtectHome=yes
PrivateDevices=yes
PrivateUsers=yes
NoNewPrivileges=yes
MemoryDenyWriteExecute=yes
RestrictNamespaces=yes
SystemCallFilter=@system-service
END
ln -s ../look.service \
	"$top/etc/systemd/system/multi-user.target.wants/look.service"
ln -s /dev/null "$top/etc/systemd/system/serial-getty@ttyS0.service"
: >"$top/said"

# shellcheck disable=SC2034 # of boot.sh
work=$(mktemp -d /tmp/konfiscator-vm.XXXXXX)
at_exit "rm -rf '$work'"
. "$top_srcdir/tests/vm/boot.sh"
say() {
	echo "$*"
}
find_virtiofsd
start_virtiofsd || skip "no file system for a machine"
at_exit "kill $server 2>/dev/null || :"
(start_qemu kf.systemd -serial "file:$WORK/console") >"$WORK/qemu" 2>&1 &
machine=$!
at_exit "kill $machine 2>/dev/null || :"
off() {
	! kill -0 "$machine" 2>/dev/null
}
wait_for 900 off || fail "it is not done: $(tail -n 5 "$WORK/console")"

said() {
	sed -n "s/^$1 //p" "$top/said"
}
grep -qx 'done' "$top/said" || {
	tail -n 20 "$WORK/console"
	fail "the machine did not come to the end: $(cat "$top/said")"
}
cat "$top/said" "$top/journal"
[ "$(said sort)" -gt 0 ] || fail "what sort allocated is not served"
equal "processes named sleep" 1 "$(said sleep)"
equal "the service" active "$(said active)"
equal "its user and group" "konfiscator konfiscator" "$(said user)"
equal "its rights, CAP_FOWNER alone" 8 "$(said rights)"
equal "its filter of system calls" 2 "$(said filter)"
grep -q 'msg=sandbox landlock="version' "$top/journal" ||
	fail "it is not under Landlock: $(grep msg=sandbox "$top/journal")"
equal "the group after a reload" asleep "$(said reload)"
equal "counts after a restart" "$(said sort)" "$(said sort_again)"
equal "the socket's first answer" page "$(said socket)"
equal "restarts by itself" 0 "$(said restarts)"
equal "units that failed" 0 "$(said failed)"
equal "redis before" active "$(said loaded)"
equal "what to do" "systemctl restart redis-server.service" "$(said enable)"
equal "redis, enabled but not restarted" \
	"redis-server.service,yes,1,0,0,systemctl restart redis-server.service" \
	"$(said unrestarted)"
equal "redis under the library" "redis-server.service,yes,1,1,0," "$(said redis)"
equal "redis' filter of system calls" 2 "$(said redis_filter)"
equal "redis' stats file" 1 "$(said redis_file)"
[ "$(said redis_calls)" -gt 0 ] || fail "no calls of redis are counted"
equal "redis, disabled but not restarted" \
	"redis-server.service,no,1,1,0,systemctl restart redis-server.service" \
	"$(said disabled)"
equal "redis without the library" "redis-server.service,no,1,0,0," \
	"$(said redis_without)"
equal "the guest's own preload" "others libm.so.6" "$(said guest)"
equal "the guest's own preload, mapped" 1 "$(said guest_mapped)"
equal "the guest's stats file" 1 "$(said guest_file)"
equal "the guest" "guest@one.service,yes,1,1,0," "$(said guest_one)"
equal "what to do for a template" "systemctl restart 'guest@*'" \
	"$(said template)"
equal "all guests" "guest@.service,yes,2,2,0," "$(said guests)"
equal "what is enabled" "guest@.service guest@one.service " \
	"$(said enabled)"
