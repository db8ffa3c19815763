# SPDX-License-Identifier: LGPL-2.1-or-later
"""An exporter with the rights of its service, a user of its own and CAP_FOWNER,
names the functions of other users' programs where their files can be read. Where
a capability would bring more names, the page says which, and the log once."""

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

import kftest

USER = 1000000000 + os.getpid()  # no other user of this machine has these
SERVICE = USER + 1
PROGRAM = """
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void *volatile block;

__attribute__((noinline)) void FUNCTION(void)
{
	block = malloc(100000);
}

#ifndef OBJECT
int main(int argc, char **argv)
{
	void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*call)(void) =
		object ? (void (*)(void))dlsym(object, "in_object") : FUNCTION;

	if (!call || (object && unlink(argv[1])))
		return 1;
	for (int i = 0; i < 20; i++)
		call();
	write(1, "done\\n", 5);
	return (int)read(0, (void *)&block, 1);
}
#endif
"""
PYTHON = "import sys\nkept = [bytearray(20000) for _ in range(50)]\n" \
         "print('done', flush=True)\nsys.stdin.readline()\n"


def setpriv(user, capabilities=()):
    """A command before others: the user, with these capabilities alone."""
    caps = ",".join(["-all"] + ["+" + c for c in capabilities])
    return [kftest.need("setpriv"), "--reuid=%d" % user, "--regid=%d" % user,
            "--clear-groups", "--inh-caps=" + caps, "--ambient-caps=" + caps,
            "--bounding-set=" + caps]


def prepare(world):
    """What a user may come to: the library, a place for stats files."""
    if os.geteuid() != 0:
        raise kftest.Skip("other users need root")
    os.chmod(world.dir, 0o755)
    shutil.copy(os.environ["KF_LIB"], world.path("lib.so"))
    os.chmod(world.path("lib.so"), 0o755)
    os.chown(world.stats, 0, SERVICE)
    os.chmod(world.stats, 0o3773)


def build(world, name, *options):
    compiler = os.environ["CC"].split()
    source = world.path("program.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run([*compiler, "-w", "-O1", *options, "-o", world.path(name),
                    source, "-ldl"], check=True)
    return world.path(name)


def begin(world, *command):
    """Run it as the user, until it has allocated."""
    process = world.run(
        *setpriv(USER), "env", "LD_PRELOAD=" + world.path("lib.so"),
        "KONFISCATOR_DIR=" + world.stats, "KONFISCATOR_SAMPLE=4K",
        "PYTHONMALLOC=malloc", *command, bufsize=0, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"done\n", command
    return process


def service(world, *more):
    return world.exporter(prefix=setpriv(SERVICE, ("fowner", *more)))


def sites(exporter, process):
    """The part of its page that has the stacks, as text."""
    status, _, body = exporter.request("/process?pid=%d" % process.pid)
    assert status == 200, body
    page = body.decode()
    return html.unescape(page[page.index('id="sites"'):
                              page.index('id="sizes"')])


def a_program_that_all_may_read_has_names(world):
    prepare(world)
    program = begin(world, build(world, "program", "-DFUNCTION=in_program",
                                 "-Wl,--build-id=sha1"))
    python = begin(world, sys.executable, "-c", PYTHON)
    exporter = service(world)
    text = sites(exporter, program)
    assert "in_program" in text, text
    assert "CAP_" not in text, text
    text = sites(exporter, python)
    assert "PyByteArray_Resize" in text or "PyObject_" in text, text
    # The calls of Python are in the stats file.
    assert re.search(r" \(<(string|frozen [\w.]+)>:\d+\)", text), text
    assert "CAP_SYS_PTRACE" not in exporter.log, exporter.log


def who_may_not_read_a_program_is_told_once(world):
    prepare(world)
    home = world.path("home")
    os.mkdir(home, 0o700)
    build(world, "home/program", "-DFUNCTION=in_home", "-Wl,--build-id=sha1")
    os.chown(home, USER, USER)
    program = begin(world, home + "/program")
    exporter = service(world)
    for _ in range(2):
        text = sites(exporter, program)
        assert "in_home" not in text, text
        assert "the exporter needs CAP_SYS_PTRACE" in text, text
    exporter.says("missing=CAP_SYS_PTRACE")
    assert exporter.log.count("missing=") == 1, exporter.log
    text = sites(service(world, "sys_ptrace"), program)
    assert "in_home" in text and "CAP_" not in text, text


def a_deleted_object_needs_another_capability(world):
    prepare(world)
    home = world.path("home")
    os.mkdir(home)
    object_ = build(world, "home/object.so", "-DFUNCTION=in_object",
                    "-DOBJECT", "-shared", "-fPIC", "-Wl,--build-id=sha1")
    os.chown(home, USER, USER)
    program = begin(world, build(world, "program", "-DFUNCTION=in_program",
                                 "-Wl,--build-id=sha1"), object_)
    exporter = service(world, "sys_ptrace")
    text = sites(exporter, program)
    assert "in_object" not in text, text
    assert "the exporter needs CAP_CHECKPOINT_RESTORE and " \
        "CAP_DAC_READ_SEARCH to open" in text, text
    exporter.says("missing=")
    more = ("sys_ptrace", "checkpoint_restore", "dac_read_search")
    kernel = subprocess.run(
        setpriv(SERVICE, more) +
        ["sh", "-c", "head -c 1 /proc/%d/map_files/*" % program.pid],
        check=False, capture_output=True)
    if not kernel.stdout:
        print("not tried: the kernel does not open map_files here")
        return
    text = sites(service(world, *more), program)
    assert "in_object" in text and "CAP_" not in text, text


def directories_beside_the_systems_are_named_by_a_flag(world):
    prepare(world)
    # Landlock lets the exporter read /tmp
    elsewhere = tempfile.mkdtemp(dir="/var/tmp", prefix="kf-exporter.")
    try:
        os.chmod(elsewhere, 0o755)
        program = begin(world, shutil.copy2(build(
            world, "program", "-DFUNCTION=elsewhere",
            "-Wl,--build-id=sha1"), elsewhere))
        exporter = service(world)
        exporter.says("msg=sandbox")
        if "landlock=\"version" not in exporter.log:
            raise kftest.Skip("no Landlock: " + exporter.log)
        text = sites(exporter, program)
        assert "elsewhere" not in text, text
        assert "the exporter needs --sandbox.read with their " in text, text
        exporter.says('missing="--sandbox.read with their directories"')
        for flag in ("--sandbox.read=" + elsewhere, "--sandbox.landlock=off"):
            exporter = world.exporter(flag, prefix=setpriv(SERVICE, ("fowner",)))
            text = sites(exporter, program)
            assert "elsewhere</code>" in text and "needs" not in text, text
    finally:
        shutil.rmtree(elsewhere)


kftest.main(
    a_program_that_all_may_read_has_names,
    who_may_not_read_a_program_is_told_once,
    a_deleted_object_needs_another_capability,
    directories_beside_the_systems_are_named_by_a_flag,
)
