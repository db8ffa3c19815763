#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# enable writes a drop-in for the unit files of a root: it keeps the unit's own
# LD_PRELOAD, opens what the unit closes for the stats file, and nothing else;
# what cannot run under the library is refused, and so is a file that is not
# ours. disable takes all back.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

root=$WORK/root
library=$(strings -a "$KF_CLI" | grep -m 1 '/libkonfiscator\.so\.[0-9]*$')
dropin=50-konfiscator.conf
mkdir -p "$root/usr/lib/systemd/system" "$root/etc/systemd/system" \
	"$root/usr/sbin" "$root/bin" "$root/etc/default"
cp /bin/true "$root/usr/sbin/daemon"
cp /bin/sh "$root/bin/sh"

# unit NAME LINE...: a unit with these lines in its [Service]
unit() {
	name=$1
	shift
	printf '%s\n' '[Unit]' 'Description=Environment=LD_PRELOAD=/no' \
		'[Service]' 'ExecStart=/usr/sbin/daemon --x' "$@" \
		>"$root/usr/lib/systemd/system/$name"
}
enables() {
	expect 0 "$KF_CLI" enable --root="$root" "$@"
	file=$root/etc/systemd/system/$1.d/$dropin
}
refuses() {
	want=$1
	shift
	expect 1 "$KF_CLI" enable --root="$root" "$@"
	says "$want"
	[ ! -e "$root/etc/systemd/system/$1.d" ] || fail "$1 is enabled"
}
has() {
	grep -qxF -e "$1" "$file" || fail "$file: no line $1: $(cat "$file")"
}
has_no() {
	! grep -q -e "$1" "$file" || fail "$file: has $1"
}

unit plain.service
refuses "$library: No such file" plain.service
mkdir -p "$root$(dirname "$library")"
cp -L "$KF_LIB" "$root$library"

# What is not restricted gets no mounts of its own.
enables plain.service
equal "the lines of the drop-in" 3 "$(wc -l <"$file")"
has "Environment=\"LD_PRELOAD=$library\""
equal "its mode" 644 "$(stat -c %a "$file")"
expect 0 "$KF_CLI" status --root="$root" plain
prints "plain.service  yes"
expect 0 "$KF_CLI" disable --root="$root" plain
[ ! -e "$root/etc/systemd/system/plain.service.d" ] ||
	fail "an empty directory is left"
expect 3 "$KF_CLI" status --root="$root" plain.service
prints "plain.service  no"
expect 0 "$KF_CLI" disable --root="$root" plain
says "it was not enabled"
expect 3 "$KF_CLI" status --root="$root"

# Options, of which a second call leaves none; '%' and '"' are themselves.
enables plain.service sample=64K stack-frames=20 tag_levels=9 "name=5% \"x\\"
has 'Environment="KONFISCATOR_SAMPLE=64K"'
has 'Environment="KONFISCATOR_STACK_FRAMES=20"'
has 'Environment="KONFISCATOR_TAG_LEVELS=9"'
has 'Environment="KONFISCATOR_NAME=5%% \"x\\"'
enables plain.service --python
has 'Environment="PYTHONMALLOC=malloc"'
has_no KONFISCATOR_SAMPLE
equal "files in its directory" "$dropin" "$(ls -A "$(dirname "$file")")"
cp "$file" "$WORK/before"
expect 0 "$KF_CLI" enable --root="$root" --dry-run plain sample=1M
prints KONFISCATOR_SAMPLE=1M
cmp "$file" "$WORK/before" || fail "--dry-run writes"

# The unit's own LD_PRELOAD, of its files in systemd's order, without ours.
unit preloads.service "Environment=A=1 \"LD_PRELOAD=/x/%n.so\" B=2 \\" \
	'# no comment ends a line' "  C=\"a b\""
enables preloads.service
has "Environment=\"LD_PRELOAD=$library:/x/%n.so\""
enables preloads.service
has "Environment=\"LD_PRELOAD=$library:/x/%n.so\""
mkdir "$root/usr/lib/systemd/system/preloads.service.d" \
	"$root/etc/systemd/system/service.d"
echo "[Service]
Environment=LD_PRELOAD=/y.so:libkonfiscator.so.1:/z.so" \
	>"$root/usr/lib/systemd/system/preloads.service.d/60.conf"
echo "[Service]
Environment=LD_PRELOAD=/first.so" >"$root/etc/systemd/system/service.d/10.conf"
enables preloads.service
has "Environment=\"LD_PRELOAD=$library:/y.so:/z.so\""
echo "[Service]
Environment=" >"$root/usr/lib/systemd/system/preloads.service.d/70.conf"
enables preloads.service
has "Environment=\"LD_PRELOAD=$library\""
rm -r "$root/etc/systemd/system/service.d"

# A template, an instance of it, an alias.
unit work@.service 'Environment=LD_PRELOAD=/%i.so'
enables work@.service
has "Environment=\"LD_PRELOAD=$library:/%i.so\""
enables work@one.service
has "Environment=\"LD_PRELOAD=$library:/%i.so\""
ln -s /usr/lib/systemd/system/plain.service \
	"$root/etc/systemd/system/alias.service"
rm -r "$root/etc/systemd/system/plain.service.d"
expect 0 "$KF_CLI" enable --root="$root" alias
[ -e "$root/etc/systemd/system/plain.service.d/$dropin" ] ||
	fail "an alias is not the unit's own name"
expect 0 "$KF_CLI" status --root="$root"
equal "enabled units" "plain.service preloads.service work@.service work@one.service" \
	"$(awk 'NR > 1 { print $1 }' "$WORK/out" | tr '\n' ' ' | sed 's/ $//')"
# What a link leads to is a name only if it is that of a service.
for name in text.txt "$(printf 'red\033[31m.service')"; do
	cp "$root/usr/lib/systemd/system/plain.service" \
		"$root/usr/lib/systemd/system/$name"
	ln -sf "/usr/lib/systemd/system/$name" \
		"$root/etc/systemd/system/odd.service"
	enables odd.service
	[ -e "$file" ] || fail "a link to $name gives its name to the unit"
	expect 0 "$KF_CLI" disable --root="$root" odd
done

# What restrictions need.
run=/run/konfiscator
unit strict.service ProtectSystem=strict MemoryDenyWriteExecute=yes
enables strict.service dir=/var/lib/x
has "ReadWritePaths=-\"$run\""
has "ReadWritePaths=-\"/var/lib/x\""
# a blank would part the path, and systemd would fill in a specifier
enables strict.service 'dir=/var/lib/x y/100%n'
has 'ReadWritePaths=-"/var/lib/x y/100%%n"'
unit full.service ProtectSystem=full ProtectHome=yes PrivateTmp=yes
enables full.service
has_no Paths
unit dynamic.service DynamicUser=yes
enables dynamic.service
has "ReadWritePaths=-\"$run\""
unit reads.service 'ReadOnlyPaths=/etc -/run/'
enables reads.service
has "ReadWritePaths=-\"$run\""
unit tmpfs.service 'TemporaryFileSystem=/run:ro /var'
enables tmpfs.service
has "BindPaths=-\"$run\""
has_no BindReadOnlyPaths
mkdir -p "$root/jail/usr/sbin"
cp /bin/true "$root/jail/usr/sbin/daemon"
unit jailed.service RootDirectory=/jail
enables jailed.service
has "BindPaths=-\"$run\""
has "BindReadOnlyPaths=\"$library\""

# What cannot be.
unit image.service RootImage=/x.raw
refuses "RootImage=/x.raw" image.service
unit hidden.service "InaccessiblePaths=${library%/*}"
refuses "hides the library" hidden.service
unit unset.service UnsetEnvironment=LD_PRELOAD
refuses UnsetEnvironment unset.service
unit file.service EnvironmentFile=-/etc/default/file
echo LD_PRELOAD=/other.so >"$root/etc/default/file"
refuses "/etc/default/file sets LD_PRELOAD" file.service
echo 'int main(void) { return 0; }' >"$WORK/static.c"
compile -static -o "$root/usr/sbin/static" "$WORK/static.c"
unit static.service ExecStart= ExecStart=-/usr/sbin/static
refuses "/usr/sbin/static: it is statically linked" static.service
printf '#!/usr/sbin/static\n' >"$root/usr/sbin/script"
unit script.service ExecStartPre=/bin/sh ExecStart= 'ExecStart=@/usr/sbin/script x'
refuses "its interpreter /usr/sbin/static: it is static" script.service
unit gone.service ExecStart= ExecStart=/usr/sbin/gone
refuses "/usr/sbin/gone: No such file" gone.service
if [ "$(id -u)" -eq 0 ]; then
	cp /bin/true "$root/usr/sbin/setid"
	chown 1 "$root/usr/sbin/setid"
	chmod 4755 "$root/usr/sbin/setid"
	unit setid.service ExecStart= ExecStart=/usr/sbin/setid
	refuses "it is set-user-ID" setid.service
	unit setid.service ExecStart= ExecStart=/usr/sbin/setid \
		NoNewPrivileges=yes
	enables setid.service
fi
ln -s /dev/null "$root/etc/systemd/system/masked.service"
refuses "masked" masked.service
: >"$root/usr/lib/systemd/system/empty.service"
refuses "empty.service: the unit is masked" empty.service
refuses "no such unit" none.service

# What is in the file and not ours stays, and nothing is written through links.
file=$root/etc/systemd/system/plain.service.d/$dropin
echo "Nice=5" >>"$file"
cp "$file" "$WORK/before"
for command in enable disable; do
	expect 1 "$KF_CLI" $command --root="$root" plain
	says "$file: it has lines that konfiscator did not write"
done
cmp "$file" "$WORK/before" || fail "a foreign file was changed"
expect 3 "$KF_CLI" status --root="$root" plain
prints "did not write"
rm -r "$root/etc/systemd/system/plain.service.d"
mkdir "$WORK/elsewhere"
ln -s "$WORK/elsewhere" "$root/etc/systemd/system/plain.service.d"
expect 1 "$KF_CLI" enable --root="$root" plain
equal "what came through a link" "" "$(ls -A "$WORK/elsewhere")"
rm "$root/etc/systemd/system/plain.service.d"

# Whatever the umask is, all users can read what is written; what a user cannot
# read is not said to be absent or foreign.
rm -rf "$root/etc/systemd"
(umask 077 && "$KF_CLI" enable --root="$root" plain >/dev/null) ||
	fail "enable fails with umask 077"
dir=$root/etc/systemd/system
equal "modes" "755 755 755 644" "$(stat -c %a "$root/etc/systemd" "$dir" \
	"$dir/plain.service.d" "$dir/plain.service.d/$dropin" |
	tr '\n' ' ' | sed 's/ $//')"
needs setpriv util-linux
# as_user STATUS ARG...: root without its rights to read all
as_user() {
	status=$1
	shift
	if [ "$(id -u)" -eq 0 ]; then
		expect "$status" setpriv --bounding-set=-all --inh-caps=-all \
			"$KF_CLI" "$@"
	else
		expect "$status" "$KF_CLI" "$@"
	fi
}
chmod 0 "$dir/plain.service.d"
as_user 3 status --root="$root" plain
prints "plain.service  unknown"
prints "its $dropin cannot be read: run as root"
for command in enable disable; do
	as_user 1 $command --root="$root" plain
	says "plain.service.d/$dropin: Permission denied"
done
chmod 0 "$dir"
as_user 1 status --root="$root"
says "$dir: Permission denied"
chmod 755 "$dir" "$dir/plain.service.d"

# Usage.
for name in ../plain .service '@.service' 'a b' 'x/y' "$(printf 'a\nb')" \
	"$(printf '%0300d' 0)"; do
	expect 2 "$KF_CLI" enable --root="$root" "$name"
	says "'"
done
expect 2 "$KF_CLI" enable --root="$root" plain.socket
says "'plain.socket' is not a service"
expect 2 "$KF_CLI" enable --root="$root"
expect 2 "$KF_CLI" disable --root="$root" plain strict
expect 2 "$KF_CLI" enable --root="$root" plain sample=x
says "sample: 'x' is not a number of bytes"
expect 2 "$KF_CLI" enable --root="$root" plain record=here
says "record: 'here' is not an absolute path"
for word in no=1 sample sampl=1 samples=1 =1; do
	expect 2 "$KF_CLI" enable --root="$root" plain "$word"
	says "'$word' is not OPTION=VALUE"
done
expect 2 "$KF_CLI" enable --root="$root" --user plain
expect 1 "$KF_CLI" status --root="$WORK/none"
says "$WORK/none: No such file"

# The user's units are in the home, where nothing has to be there before.
mkdir -p "$WORK/home"
home_cli() {
	env HOME="$WORK/home" XDG_CONFIG_HOME= XDG_RUNTIME_DIR= \
		KONFISCATOR_LIBRARY="$KF_LIB" "$KF_CLI" "$@"
}
mkdir -p "$WORK/home/.config/systemd/user"
printf '[Service]\nExecStart=/bin/true\n' \
	>"$WORK/home/.config/systemd/user/mine.service"
case $(readlink -f "$KF_LIB") in
*[' :$']*) ;;
*)
	expect 0 home_cli enable --user mine
	grep -qF "LD_PRELOAD=$(readlink -f "$KF_LIB")\"" \
		"$WORK/home/.config/systemd/user/mine.service.d/$dropin" ||
		fail "the user's drop-in has no library"
	expect 0 home_cli status --user mine
	expect 0 home_cli disable --user mine
	;;
esac

# systemd reads each as it is meant.
command -v systemd-analyze >/dev/null || exit 0
for name in strict jailed tmpfs preloads; do
	systemd-analyze --root="$root" --man=no verify "$name.service" \
		>"$WORK/verify" 2>&1 || :
	! grep -F "$dropin" "$WORK/verify" ||
		fail "systemd does not understand the drop-in of $name"
done
