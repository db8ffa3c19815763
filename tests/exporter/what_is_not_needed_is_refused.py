# SPDX-License-Identifier: LGPL-2.1-or-later
"""From its start on the exporter can do no more than it needs: gdb makes it try
what it never does by itself, and the kernel refuses it. What it does need is
there, also of files that are replaced while it runs."""

import ctypes
import errno
import os
import shutil
import socket
import subprocess
import tempfile

import kftest
import kfweb

SERVICE = 1000000000 + os.getpid()  # no other user of this machine has this
ERRNO = "*((int *(*)(void))__errno_location)()"
AF_INET, SOCK_STREAM = 2, 1
# the C library's debug information has a union for the address
SOCKETS = "((int (*)(int, char *, int))%s)($s, $%s, 16)"

# Calls that fail for want of arguments where no filter is; CALL(arguments).
# None is made whose success would matter.
FILTERED = ("execve(0, 0, 0)", "mount(0, 0, 0, 0, 0)", "umount2(0, 0)",
            "ptrace(99, 0, 0, 0)", "unshare(-1)", "setns(-1, 0)",
            "pivot_root(0, 0)", "chroot(0)", "sethostname(0, 1)",
            "swapon(0, 0)", "init_module(0, 1, 0)", "delete_module(0, 0)",
            "personality(-1)")


def landlock():
    """The version of the kernel's Landlock, or the test is skipped."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 1:
        raise kftest.Skip("this kernel has no Landlock: " +
                          os.strerror(ctypes.get_errno()))
    return version


def setpriv(*capabilities):
    """A command before others: the service's user, with these capabilities."""
    if os.geteuid() != 0:
        raise kftest.Skip("other users need root")
    caps = ",".join(["-all"] + ["+" + c for c in capabilities])
    return [kftest.need("setpriv"), "--reuid=%d" % SERVICE,
            "--regid=%d" % SERVICE, "--clear-groups", "--inh-caps=" + caps,
            "--ambient-caps=" + caps, "--bounding-set=" + caps]


def outside(world):
    """A directory that no rule allows; /tmp may be read."""
    path = tempfile.mkdtemp(dir="/var/tmp", prefix="kf-exporter.")
    os.chmod(path, 0o755)
    world.outside = path
    return path


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def status(exporter, name):
    with open("/proc/%d/status" % exporter.process.pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1)
                    for line in f)[name].strip()


def calls(exporter, *expressions, before=()):
    """What calls in the exporter return: 0 and above, or the error's name."""
    command = [kftest.need("gdb"), "-nx", "-batch", "-ex", "set confirm off",
               "-p", str(exporter.process.pid)]
    for order in before:
        command += ["-ex", order]
    for i, expression in enumerate(expressions):
        command += ["-ex", "set $r = (int)" + expression,
                    "-ex", "set $e = " + ERRNO,
                    "-ex", 'printf "call %d: %%d %%d\\n", $r, $e' % i]
    result = subprocess.run(command, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=kftest.PATIENCE)
    got = {}
    for line in result.stdout.splitlines():
        if line.startswith("call "):
            number, values = line[5:].split(": ")
            value, error = map(int, values.split())
            got[int(number)] = (value if value >= 0
                                else errno.errorcode[error])
    assert len(got) == len(expressions), (expressions, result)
    return [got[i] for i in range(len(expressions))]


def address(name, port):
    """Orders for gdb that make it an address of the loopback."""
    return ("set $%s = (char *)malloc(16)" % name,
            "set *(unsigned short *)$%s = %d" % (name, AF_INET),
            "set *(unsigned short *)($%s + 2) = %d" % (
                name, socket.htons(port)),
            "set *(unsigned int *)($%s + 4) = %d" % (
                name, socket.htonl(0x7f000001)))


def service(world, *flags, capabilities=("fowner",), **kw):
    """An exporter with the rights of its service."""
    os.chmod(world.dir, 0o755)
    os.chown(world.stats, SERVICE, SERVICE)
    return world.exporter(*flags, prefix=setpriv(*capabilities), **kw)


def system_calls_are_filtered(world):
    exporter = world.exporter()
    exporter.says("seccomp=on")
    assert status(exporter, "NoNewPrivs") == "1"
    assert status(exporter, "Seccomp") == "2"
    for thread in os.listdir("/proc/%d/task" % exporter.process.pid):
        with open("/proc/%d/task/%s/status" % (exporter.process.pid,
                                               thread)) as f:
            assert "Seccomp:\t2\n" in f.read(), thread
    for call, got in zip(FILTERED, calls(exporter, *FILTERED)):
        assert got == "EPERM", (call, got)
    # it goes on, with a thread for each connection
    exporter.scrape()
    assert exporter.stop() == 0


def a_flag_leaves_the_filter_out(world):
    exporter = world.exporter("--sandbox.seccomp=off")
    exporter.says("seccomp=off")
    assert status(exporter, "Seccomp") == "0"
    for call, got in zip(FILTERED, calls(exporter, *FILTERED)):
        assert got != "EPERM", (call, got)


def the_service_uses_the_files_and_ports_that_it_needs(world):
    version = landlock()
    away = outside(world)
    write(os.path.join(away, "secret"), "x")
    os.chown(away, SERVICE, SERVICE)
    os.mkdir(world.path("kept"))
    os.chown(world.path("kept"), SERVICE, SERVICE)
    world.stats_file("a", pid=world.sleeper().pid, blocks="64:23:5")
    receiver = socket.socket()
    receiver.bind(("127.0.0.1", 0))
    receiver.listen()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        exporter = service(
            world, "--otlp.endpoint=http://127.0.0.1:%d" %
            receiver.getsockname()[1], state=world.path("kept", "state"))
        exporter.says('landlock="version %d"' % version)
        assert exporter.scrape().get("konfiscator_malloc_total",
                                     process="sleep") == 23
        secret, new = (os.path.join(away, n) for n in ("secret", "new"))
        wanted = {
            'open("%s", 0)' % secret: "EACCES",
            'open("%s", 0)' % away: "EACCES",
            'open("%s", 0102, 0600)' % new: "EACCES",
            'unlink("%s")' % secret: "EACCES",
            'open("%s", 0102, 0600)' % world.path("new"): "EACCES",
            'mkdir("%s", 0700)' % world.path("kept", "d"): "EACCES",
            'readlink("/proc/%d/exe", $other, 1)' % os.getpid(): "EACCES",
            'open("%s", 0102, 0600)' % world.path("kept", "new"): 0,
            'unlink("%s")' % world.path("kept", "new"): 0,
            'open("%s", 0)' % world.path("stats", "a"): 0,
            'open("/etc/passwd", 0)': 0,
            'open("/proc/%d/status")' % os.getpid(): 0,
        }
        if version >= 4:
            wanted[SOCKETS % ("connect", "other")] = "EACCES"
            wanted[SOCKETS % ("bind", "free")] = "EACCES"
            wanted[SOCKETS % ("connect", "receiver")] = 0
        if version >= 6:
            wanted["kill(%d, 0)" % os.getpid()] = "EPERM"

        got = calls(exporter, *wanted, before=(
            *address("other", other.getsockname()[1]),
            *address("free", kftest.free_port()),
            *address("receiver", receiver.getsockname()[1]),
            "set $s = (int)socket(%d, %d, 0)" % (AF_INET, SOCK_STREAM)))
    for (call, want), result in zip(wanted.items(), got):
        ok = result == want or (want == 0 and isinstance(result, int))
        assert ok, (call, want, result)
    assert os.listdir(away) == ["secret"]
    receiver.close()
    assert exporter.stop() == 0


def a_flag_leaves_landlock_out(world):
    away = outside(world)
    write(os.path.join(away, "file"), "x")
    exporter = service(world, "--sandbox.landlock=off")
    exporter.says("landlock=off")
    got, = calls(exporter, 'open("%s", 0)' % os.path.join(away, "file"))
    assert isinstance(got, int), got


def files_are_read_again_when_they_are_replaced(world):
    landlock()
    kfweb.make_all(world)
    away = outside(world)
    shutil.chown(world.path("server.key"), SERVICE, SERVICE)
    exporter = service(world, kfweb.config(world, kfweb.TLS))
    context = kfweb.client(world)
    exporter.says('landlock="version')
    assert kfweb.get(exporter, context)[0] == 200
    # another file of the same name
    shutil.copy2(world.path("server.crt"), world.path("new.crt"))
    os.rename(world.path("new.crt"), world.path("server.crt"))
    assert kfweb.get(exporter, context)[0] == 200
    assert "invalid certificate" not in exporter.log
    # a link to where nothing may be read
    shutil.copy2(world.path("server.crt"), os.path.join(away, "server.crt"))
    os.unlink(world.path("server.crt"))
    os.symlink(os.path.join(away, "server.crt"), world.path("server.crt"))
    assert kfweb.get(exporter, context)[0] == 200
    exporter.says("invalid certificate: keeping the previous one")
    exporter.says("Permission denied")


def who_may_look_into_processes_keeps_that(world):
    landlock()
    exporter = service(world, capabilities=("fowner", "sys_ptrace"))
    exporter.says('landlock="off because of CAP_SYS_PTRACE"')
    exporter.stop()
    # of its own user there is another process
    world.run(*setpriv(), "sleep", "1000")
    exporter = service(world)
    exporter.says('landlock="off because of processes that it may look into"')
    exporter.stop()
    exporter = service(world, "--resident.smaps")
    exporter.says('landlock="off because of --resident.smaps"')
    exporter.stop()
    exporter = service(world, "--sandbox.landlock=on")
    exporter.says('landlock="version')


def flags_that_exclude_each_other_are_told(world):
    for flag in ("--stats.containers", "--resident.smaps", "--trace=sizes"):
        result = subprocess.run(
            [kftest.EXPORTER, "--sandbox.landlock=on", flag], text=True,
            capture_output=True, timeout=kftest.PATIENCE)
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        assert flag.split("=")[0] in result.stderr or flag == "--trace=sizes"
    rules = world.path("rules.yml")
    write(rules, "trace: [sizes]\n")
    result = subprocess.run(
        [kftest.EXPORTER, "--sandbox.landlock=on", "--config.file=" + rules,
         "--web.listen-address=127.0.0.1:0", "--stats.state-file="], text=True,
        capture_output=True, timeout=kftest.PATIENCE)
    assert result.returncode == 1 and "tracers" in result.stderr, result


def finish(fact):
    def run(world):
        try:
            fact(world)
        finally:
            if hasattr(world, "outside"):
                shutil.rmtree(world.outside)
    run.__name__ = fact.__name__
    return run


kftest.main(*map(finish, (
    system_calls_are_filtered,
    a_flag_leaves_the_filter_out,
    the_service_uses_the_files_and_ports_that_it_needs,
    a_flag_leaves_landlock_out,
    files_are_read_again_when_they_are_replaced,
    who_may_look_into_processes_keeps_that,
    flags_that_exclude_each_other_are_told,
)))
