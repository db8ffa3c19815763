# SPDX-License-Identifier: LGPL-2.1-or-later
"""Call a function of the library in a running process, from inside gdb.

`konfiscator attach` and `konfiscator detach` start gdb with this script; what
they ask for is in the environment:

    KF_PID        the process, as this /proc has it
    KF_LIBRARY    the library's path, as the process has it
    KF_FUNCTION   konfiscator_attach or konfiscator_detach
    KF_LOAD       1: the library may be loaded; 0: it is there already
    KF_SAMPLE     the function's argument
    KF_SECONDS    the time limit

At last it prints "ok STOPPED_MS" or "no
WHY". Whatever happens, the process goes on.

The call is made in a thread that is at a safe point: none of its frames is in
malloc, in the dynamic linker, or in another function of the C library that
holds a lock which loading a library needs. All other threads run meanwhile, so
that a lock which one of them holds comes free.
"""

import os
import struct
import time

import gdb

PID = int(os.environ["KF_PID"])
LIMIT = float(os.environ["KF_SECONDS"])
ANSWERS = 3  # the descriptor
RTLD_NOW = 2
SCRATCH = 65536
STACK_NEEDED = 64 * 1024
MAX_FRAMES = 64
RETRY_S = 0.01

# The C library's functions in which a lock may be held that the calls below
# need; besides malloc's, which are found as a range.
BUSY = [
    "fork", "vfork", "_Fork", "__libc_fork", "posix_spawn", "posix_spawnp",
    "pthread_create", "pthread_exit", "pthread_getattr_np", "thrd_create",
    "pthread_atfork", "__register_atfork", "dl_iterate_phdr", "dlopen",
    "dlclose", "dlsym", "dlvsym", "dlmopen", "dlerror", "dladdr", "dladdr1",
    "exit", "quick_exit", "_exit", "__cxa_finalize", "__cxa_atexit",
    "__cxa_thread_atexit_impl", "pthread_setspecific", "pthread_key_create",
    "__libc_freeres", "__tls_get_addr", "mtrace", "muntrace",
]  # fmt: skip
MALLOC = [
    "malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc",
    "valloc", "pvalloc", "posix_memalign", "malloc_usable_size", "malloc_trim",
    "mallopt", "mallinfo", "mallinfo2", "malloc_info", "malloc_stats",
]  # fmt: skip


class Refused(Exception):
    """The process cannot be attached; in words why."""


class Image:
    """The dynamic symbols of a loaded object, read from the memory."""

    def __init__(self, mem, base):
        self.mem, self.base, self.tags = mem, base, {}
        head = self.read(base, 64)
        if head[:5] != b"\x7fELF\x02":
            raise Refused("it is not a 64-bit program")
        offset, = struct.unpack_from("<Q", head, 32)
        size, number = struct.unpack_from("<HH", head, 54)
        for i in range(number):
            p = struct.unpack("<IIQQQQQQ", self.read(base + offset + i * size, 56))
            if p[0] == 2:
                self.dynamic(base + p[3])
        self.symbols = self.table()

    def read(self, at, size):
        data = os.pread(self.mem, size, at)
        if len(data) != size:
            raise Refused("its memory cannot be read")
        return data

    def dynamic(self, at):
        while True:
            tag, value = struct.unpack("<QQ", self.read(at, 16))
            if not tag:
                return
            self.tags[tag] = value
            at += 16

    def count(self):
        """The number of symbols, by the GNU hash table."""
        at = self.tags[0x6FFFFEF5]
        buckets, first, words, _ = struct.unpack("<IIII", self.read(at, 16))
        at += 16 + 8 * words
        last = max(struct.unpack(f"<{buckets}I", self.read(at, 4 * buckets)))
        at += 4 * buckets
        while last >= first:
            value, = struct.unpack("<I", self.read(at + 4 * (last - first), 4))
            last += 1
            if value & 1:
                return last
        return first

    def table(self):
        """Name to (address, size); of several versions the default one."""
        number = self.count()
        raw = self.read(self.tags[6], 24 * number)
        names = self.read(self.tags[5], self.tags[10])
        hidden = self.read(self.tags[0x6FFFFFF0], 2 * number)
        found = {}
        for i in range(1, number):
            name, _, _, section, value, size = struct.unpack_from("<IBBHQQ", raw, 24 * i)
            version, = struct.unpack_from("<H", hidden, 2 * i)
            text = names[name:names.index(b"\0", name)].decode("ascii", "replace")
            if section and value and (text not in found or not version & 0x8000):
                found[text] = (self.base + value & (1 << 64) - 1, size)
        return found

    def at(self, name):
        return self.symbols[name][0]


def tell(line):
    """A line for `konfiscator attach`, not held back in a buffer of gdb."""
    os.write(1, b"\n" + line.replace("\n", " ").encode("utf-8", "replace") + b"\n")


def mappings():
    """(begin, end, protection, path) of each mapping."""
    with open(f"/proc/{PID}/maps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            part = line.rstrip("\n").split(None, 5)
            begin, end = (int(n, 16) for n in part[0].split("-"))
            yield begin, end, part[1], part[5] if len(part) > 5 else ""


def object_at(test):
    """The ranges of the first file whose name passes a test; its base first."""
    path, found = None, []
    for begin, end, _, name in mappings():
        if path is None and test(os.path.basename(name)):
            path = name
        if path is not None and name == path:
            found.append((begin, end))
    return found


def is_libc(name):
    return name == "libc.so.6" or (name.startswith("libc-2.") and name.endswith(".so"))


def is_linker(name):
    return name.startswith("ld-linux") or (name.startswith("ld-2.") and name.endswith(".so"))


def malloc_range(libc, ranges):
    """The C library's malloc with its static functions, which have no names.

    They are one object file: so all of the code between the functions with a
    name before it and behind it. Names that are led elsewhere do not count.
    """
    inside = {
        n: (a, a + size)
        for n, (a, size) in libc.symbols.items()
        if ranges[0][0] <= a < ranges[-1][1] and size
    }
    own = [inside[p + n] for n in MALLOC for p in ("", "__libc_") if p + n in inside]
    first, last = min(own)[0], max(own)[1]
    begin = max((end for _, end in inside.values() if end <= first), default=first)
    end = min((at for at, _ in inside.values() if at >= last), default=last)
    return begin, end


class Target:
    """What is known of the process before it is stopped."""

    def __init__(self):
        mem = os.open(f"/proc/{PID}/mem", os.O_RDONLY)
        libc, linker = object_at(is_libc), object_at(is_linker)
        if not libc or not linker:
            raise Refused("it has no GNU C library")
        self.libc = Image(mem, libc[0][0])
        self.linker = linker
        self.state = Image(mem, linker[0][0]).at("_r_debug") + 24
        self.busy = [malloc_range(self.libc, libc), (linker[0][0], linker[-1][1])]
        for name in BUSY:
            address, size = self.libc.symbols.get(name, (0, 0))
            if size:
                self.busy.append((address, address + size))
        self.mem = mem

    def is_busy(self, pc):
        return any(begin <= pc < end for begin, end in self.busy)

    def is_consistent(self):
        return struct.unpack("<i", os.pread(self.mem, 4, self.state))[0] == 0


def execute(command):
    gdb.execute(command, to_string=True)


def register(*names):
    for name in names:
        value = gdb.parse_and_eval("$" + name)
        if value.type.code != gdb.TYPE_CODE_VOID:
            return int(value) & (1 << 64) - 1
    return 0


def has_stack():
    """Whether the thread's stack has room for the calls."""
    sp = register("sp")
    for begin, end, protection, name in mappings():
        if begin <= sp < end:
            return name == "[stack]" or (
                protection.startswith("rw") and sp - begin >= STACK_NEEDED
            )
    return False


def is_safe(target):
    """Whether the selected thread holds no lock that the calls need."""
    frame = gdb.newest_frame()
    for level in range(MAX_FRAMES):
        if frame is None:
            break
        # A call that does not return may be a function's last instruction.
        if target.is_busy(frame.pc() - (1 if level else 0)):
            return False
        try:
            frame = frame.older()
        except gdb.error:
            break
    return has_stack()


def choose(target):
    """Select a thread at a safe point, the first one if possible."""
    if not target.is_consistent():
        return False
    threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1] != PID)
    for thread in threads:
        thread.switch()
        if is_safe(target):
            return True
    return False


class Caller:
    """Calls functions of the process, in the selected thread.

    gdb cannot end a call that waits for a lock: `konfiscator attach` does it, by
    a SIGTRAP that gdb does not pass on; then gdb puts the registers back. It
    hears the thread's number before each call, "called" after it, and answers
    with "l" if it has sent the signal.
    """

    def __init__(self, target):
        self.target = target

    def call(self, address, kind, *args, ends=True):
        tid = gdb.selected_thread().ptid[1] if ends else 0
        text = ", ".join(f"({t}){v}" for t, v in args)
        value, why = None, None
        tell(f"calling {tid}")
        try:
            value = int(gdb.parse_and_eval(f"(({kind}){address})({text})"))
        except gdb.error as e:
            why = str(e).split("\n", maxsplit=1)[0]
        tell("called")
        late = os.read(ANSWERS, 1) == b"l"
        if late and value is not None:
            self.swallow()
        if value is not None:
            return value
        raise Refused(
            "loading the library took too long: another thread may be in the "
            "dynamic linker" if late else why
        )

    def swallow(self):
        """The call ended as the signal came: let another one take it."""
        try:
            gdb.parse_and_eval(f"((int (*)()){self.target.libc.at('getpid')})()")
        except gdb.error:
            pass

    def libc(self, name, *args):
        return self.call(self.target.libc.at(name), "long (*)()", *args)

    def give_back(self, page):
        try:
            self.libc("munmap", ("long", page), ("long", SCRATCH))
        except Refused:
            pass  # 64 KiB stay; the reason is told already

    def text(self, at):
        return gdb.selected_inferior().read_memory(at, 512).tobytes().split(b"\0")[0].decode(
            "utf-8", "replace") if at else ""


def load_and_call(caller):
    """Load the library and call its function."""
    page = caller.libc("mmap", ("long", 0), ("long", SCRATCH), ("int", 3), ("int", 0x22),
                       ("int", -1), ("long", 0))
    if page in (0, -1, (1 << 64) - 1):
        raise Refused("it has no memory for a page")
    path = os.fsencode(os.environ["KF_LIBRARY"]) + b"\0"
    name = os.environ["KF_FUNCTION"].encode() + b"\0"
    inferior = gdb.selected_inferior()
    inferior.write_memory(page, path)
    inferior.write_memory(page + 8192, name)
    try:
        mode = RTLD_NOW | (0 if os.environ["KF_LOAD"] == "1" else 4)
        handle = caller.libc("dlopen", ("long", page), ("int", mode))
        if not handle:
            raise Refused(caller.text(caller.libc("dlerror")) or "the library is not there")
        function = caller.libc("dlsym", ("long", handle), ("long", page + 8192))
        if not function:
            raise Refused("the library has no " + os.environ["KF_FUNCTION"])
        why = caller.call(function, "long (*)()", ("long", os.environ["KF_SAMPLE"]),
                          ends=False)
        if why:
            raise Refused(caller.text(why))
    finally:
        caller.give_back(page)


def settings():
    for setting in (
        "debug-file-directory /nonexistent", "exec-file-mismatch off",
        "confirm off", "pagination off", "height 0", "width 0", "auto-load off",
        "auto-solib-add off", "unwindonsignal on",
        "print thread-events off", "print inferior-events off",
    ):  # fmt: skip
        execute("set " + setting)
    execute("handle all nostop noprint pass")
    execute("handle SIGINT nostop noprint pass")
    execute("handle SIGTRAP stop print nopass")
    # What gdb reads now it need not read while the process is stopped.
    execute(f"file /proc/{PID}/exe")


def try_once(target):
    """Stop the process and make the calls. Returns the ms it was stopped for.

    None: no thread was at a safe point.
    """
    began = time.monotonic()
    execute(f"attach {PID}")
    try:
        for part in ("libc[.-]", "ld-"):
            execute("sharedlibrary " + part)
        if not choose(target):
            return None
        load_and_call(Caller(target))
    finally:
        execute("detach")
    return (time.monotonic() - began) * 1000


def main():
    deadline = time.monotonic() + LIMIT
    target = Target()
    settings()
    while True:
        ms = try_once(target)
        if ms is not None:
            return ms
        if time.monotonic() > deadline:
            raise Refused("no thread came to a safe point: each was in malloc or in "
                          "the dynamic linker whenever it was looked at")
        time.sleep(RETRY_S)


try:
    tell(f"ok {main():.1f}")
except Refused as e:
    tell(f"no {e}")
except Exception as e:  # pylint: disable=broad-except
    tell(f"no gdb: {str(e).strip()}")
