#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# sshd: a session of ssh, with a part that is shut into a directory, and one that
# copies much.
. "$top_srcdir/tests/programs/same.sh"

needs sshd openssh-server
needs ssh openssh-client
[ "$(id -u)" -eq 0 ] || skip "sshd is started by root alone"
counts="sshd ssh"

job()
{
	mkdir -p /run/sshd
	for key in host user; do
		ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$key" || return
	done
	cat >config <<END
HostKey $PWD/host
AuthorizedKeysFile $PWD/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
LogLevel QUIET
END
	sshd=$(command -v sshd)
	set -- -F none -i user -o "ProxyCommand=$sshd -i -f $PWD/config" \
		-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
		-o StrictHostKeyChecking=no -o BatchMode=yes -l root here
	ssh "$@" 'echo hello; id -un; exit 3' </dev/null
	echo "status $?"
	seq 300000 | ssh "$@" cksum
	ssh "$@" 'seq 300000' </dev/null | cksum
}

same_result "$@"
