# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# How a root is entered; vm reads this.
#
#   enter COMMAND ROOT ARG...	run, job, native or shell; ends with its status
#   inside COMMAND ARG...	what enter and make_root run in namespaces of
#				their own: mounts are gone and programs dead
#				when it ends
#
# The machine has the root as its virtiofs, read only, with the trees mounted
# below /kf, and no initramfs. Its first program is init, which runs /kf/job/run.
# Emulated, as most machines that run tests are virtual ones themselves. This
# QEMU's richer processors and second processor make some kernels panic.

# Seconds until init must have begun.
: "${KF_VM_BOOT_LIMIT:=180}"
# 125, as it is for env(1), timeout(1) and others: not the program's.
NO_BOOT=125
PANIC=126

find_virtiofsd()
{
	for virtiofsd in /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd; do
		[ ! -x "$virtiofsd" ] || return 0
	done
	none "virtiofsd is missing (package qemu-system-common, or virtiofsd)"
}

enter()
{
	[ "$(id -u)" -eq 0 ] || none "root's rights are missing"
	need_program unshare util-linux
	if [ "$1" != native ]; then
		need_program qemu-system-x86_64 qemu-system-x86
		find_virtiofsd
	fi
	make_root "$2"
	unshare --mount --pid --fork --kill-child true ||
		none "this machine allows no namespaces of its own"

	# A short name, as that of a socket is bounded. Removed out here, where
	# nothing is mounted below it.
	work=$(mktemp -d /tmp/konfiscator-vm.XXXXXX) || exit 1
	trap 'rm -rf "$work"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	mkdir "$work/root" "$work/job" "$work/out"
	[ -n "$out" ] || out=$work/out

	kf_root=$root kf_stap=$stap kf_work=$work kf_out=$out kf_build=$build \
		kf_limit=$limit unshare --mount --pid --fork --kill-child \
		sh "$here/vm" --inside "$@"
	exit
}

mount_trees()
{
	top=$work/root
	mount --make-rprivate / &&
		mount --bind "$root" "$top" &&
		mount -o remount,bind,ro "$top" &&
		mount --bind "$here/../.." "$top/kf/src" &&
		mount -o remount,bind,ro "$top/kf/src" &&
		mount --bind "$work/job" "$top/kf/job" &&
		mount --bind "$out" "$top/kf/out" &&
		mount --bind "$stap" "$top/kf/stap" || return 1
	[ -n "$build" ] || return 0
	mount --bind "$build" "$top/kf/build" &&
		mount -o remount,bind,ro "$top/kf/build"
}

write_job()
{
	mkdir -p "$work/job/data/systemtap/tapset" &&
		ln -s /kf/build/probes/konfiscator.stp \
			"$work/job/data/systemtap/tapset/"
	cat >"$work/job/environment" <<END
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
export HOME=/root LC_ALL=C.UTF-8 TERM='${TERM:-dumb}'
export OUT=/kf/out SYSTEMTAP_DIR=/kf/stap
export KF_LIB=/kf/build/.libs/libkonfiscator.so
export XDG_DATA_DIRS=/kf/job/data:/usr/local/share:/usr/share
export KERNEL='$(cat "$root/kf/kernel")'
END
	# The words of the command line, each in quotes.
	{
		for word; do
			printf "'%s' " "$(printf '%s\n' "$word" |
				sed "s/'/'\\\\''/g")"
		done
		echo
	} >"$work/job/run"
}

run_native()
{
	mount -t proc proc "$top/proc" &&
		mount --rbind /dev "$top/dev" &&
		mount --rbind /sys "$top/sys" &&
		mount -t tmpfs tmpfs "$top/tmp" &&
		mount -t tmpfs tmpfs "$top/run" || return $NO_BOOT
	# For tracers, which say themselves what they miss.
	mountpoint -q "$top/sys/kernel/tracing" ||
		mount -t tracefs tracefs "$top/sys/kernel/tracing" 2>/dev/null
	# shellcheck disable=SC2016
	timeout -k 10 "$limit" chroot "$top" /usr/bin/env -i /bin/sh -c \
		'. /kf/job/environment; . /kf/job/run' &
	job=$!
	wait "$job"
}

start_virtiofsd()
{
	case $virtiofsd in
	*/libexec/*) set -- --shared-dir "$top" --sandbox chroot \
		--cache always ;;
	*) set -- -o "source=$top" -o sandbox=chroot -o cache=always ;;
	esac
	"$virtiofsd" --socket-path="$work/fs" "$@" >"$work/virtiofsd" 2>&1 &
	server=$!
	tries=600
	until [ -S "$work/fs" ]; do
		tries=$((tries - 1))
		if [ "$tries" -eq 0 ] || ! kill -0 "$server" 2>/dev/null; then
			say "virtiofsd did not start: $(tail -n 1 \
				"$work/virtiofsd")"
			return 1
		fi
		sleep 0.1
	done
}

# start_qemu WORD OPTION...: in place of this shell; WORD is for init
start_qemu()
{
	word=$1
	shift
	exec qemu-system-x86_64 -nodefaults -no-user-config -display none \
		-no-reboot -accel tcg -cpu qemu64,-cx16 -smp 1 -m 1536 \
		-object memory-backend-memfd,id=memory,size=1536M,share=on \
		-numa node,memdev=memory \
		-chardev socket,id=fs,path="$work/fs" \
		-device vhost-user-fs-pci,chardev=fs,tag=root \
		-kernel "$root/boot/vmlinuz-$(cat "$root/kf/kernel")" \
		-append "rootfstype=virtiofs root=root rw console=ttyS0 quiet \
panic=-1 oops=panic mitigations=off init=/kf/job/init $word" \
		"$@"
}

# wait_for_init: until it has begun, or the machine is dead, or for too long
wait_for_init()
{
	tries=$((KF_VM_BOOT_LIMIT * 5))
	until [ -e "$work/job/began" ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || break
		kill -0 "$machine" 2>/dev/null || break
		sleep 0.2
	done
	[ -e "$work/job/began" ]
}

# The line of a kernel's last words, nothing where there are none.
last_words()
{
	grep -E -m 1 'Oops|BUG:|general protection|Unable to handle' \
		"$work/console" || grep -m 1 'Kernel panic' "$work/console"
}

judge()
{
	if [ -e "$work/job/status" ]; then
		return "$(cat "$work/job/status")"
	fi
	if words=$(last_words); then
		say "the machine's kernel panicked: $words"
		tail -n 40 "$work/console" >&2
		return $PANIC
	fi
	if [ ! -e "$work/job/began" ]; then
		say "the machine did not boot: $(tail -qn 1 "$work/console" \
			"$work/qemu")"
		return $NO_BOOT
	fi
	if [ "$ended" -eq 124 ]; then
		say "not done after $limit seconds"
		return 124
	fi
	say "the machine ended with $ended before the program: $(tail -qn 1 \
		"$work/console" "$work/qemu")"
	return 1
}

run_in_machine()
{
	: >"$work/job/output"
	: >"$work/console"
	(start_qemu kf.job -serial "file:$work/console") >"$work/qemu" 2>&1 &
	machine=$!
	wait_for_init || kill "$machine" 2>/dev/null
	(
		sleep "$limit"
		: >"$work/late"
		kill -KILL "$machine"
	) 2>/dev/null &
	tail -s 0.2 -n +1 -f --pid="$machine" "$work/job/output"
	ended=0
	wait "$machine" 2>/dev/null || ended=$?
	[ ! -e "$work/late" ] || ended=124
	judge
}

run_shell()
{
	if size=$(stty size 2>/dev/null); then
		echo "stty rows ${size% *} cols ${size#* }" \
			>>"$work/job/environment"
	fi
	(start_qemu kf.shell -chardev stdio,id=tty,signal=off \
		-serial chardev:tty)
}

inside()
{
	trap 'exit 143' HUP INT TERM
	if [ "$1" = build ]; then
		shift
		build "$@"
		return
	fi
	root=$kf_root
	stap=$kf_stap
	work=$kf_work
	out=$kf_out
	build=$kf_build
	limit=$kf_limit
	mount_trees || none "the trees cannot be mounted"
	kind=$1
	shift 2
	case $kind in
	run | native) shift ;;
	job)
		cp "$1" "$work/job/script" || return 1
		shift
		set -- sh /kf/job/script "$@"
		;;
	esac
	write_job "$@"
	if [ "$kind" = native ]; then
		run_native
		return
	fi
	cp "$here/init" "$work/job/init" && chmod +x "$work/job/init" ||
		return 1
	find_virtiofsd
	start_virtiofsd || return $NO_BOOT
	if [ "$kind" = shell ]; then
		run_shell
	else
		run_in_machine
	fi
}
