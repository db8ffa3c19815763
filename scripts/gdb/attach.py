# SPDX-License-Identifier: LGPL-2.1-or-later
"""Call a function of the library in a running process, from inside gdb.

`konfiscator attach` and `konfiscator detach` start gdb with this script; what
they ask for is in the environment:

    KF_SCRIPTS    the directory of this script
    KF_PID        the process, as this /proc has it
    KF_LIBRARY    the library's path, as the process has it
    KF_FUNCTION   konfiscator_attach or konfiscator_detach
    KF_LOAD       1: the library may be loaded; 0: it is there already
    KF_SAMPLE     the function's argument
    KF_SECONDS    the time limit

At last it prints "ok STOPPED_MS" or "no WHY". Whatever happens, the process
goes on.

The call is made in a thread that is at a safe point: none of its frames is in
malloc, in the dynamic linker, or in another function of the C library that
holds a lock which loading a library needs; and it does not block a SIGTRAP that
the program handles. All other threads run meanwhile, so that a lock which one
of them holds comes free.
"""

import os
import re
import signal
import struct
import sys
import time

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["KF_SCRIPTS"])
# pylint: disable-next=wrong-import-position
from registers import Keeper, plain_registers  # noqa: E402

PID = int(os.environ["KF_PID"])
LIMIT = float(os.environ["KF_SECONDS"])
ANSWERS = 3  # the descriptor
RTLD_NOW, RTLD_NOLOAD = 2, 4
SCRATCH = 65536  # names, and the registers in the second quarter
CODE = 4096
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
            part = self.read(base + offset + i * size, 24)
            kind, _, _, at = struct.unpack("<IIQQ", part)
            if kind == 2:
                self.dynamic(base + at)

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

    def entry(self, i):
        """The name, section, value, size and version of a symbol."""
        name, _, _, section, value, size = struct.unpack(
            "<IBBHQQ", self.read(self.tags[6] + 24 * i, 24)
        )
        names = self.tags[5] + name
        text = self.read(names, min(64, self.tags[10] - name)).split(b"\0")[0]
        version = b"\0\0"
        if 0x6FFFFFF0 in self.tags:
            version = self.read(self.tags[0x6FFFFFF0] + 2 * i, 2)
        hidden = struct.unpack("<H", version)[0] & 0x8000
        return text.decode("ascii", "replace"), section, value, size, hidden

    def defines(self, name):
        """Whether the object defines a symbol, by its hash table."""
        if 0x6FFFFEF5 not in self.tags:
            return False
        value = 5381
        for c in name.encode():
            value = (value * 33 + c) & 0xFFFFFFFF
        at = self.tags[0x6FFFFEF5]
        buckets, first, words, _ = struct.unpack("<IIII", self.read(at, 16))
        at += 16 + 8 * words
        i, = struct.unpack("<I", self.read(at + value % buckets * 4, 4))
        at += 4 * buckets
        while i >= first:
            chain, = struct.unpack("<I", self.read(at + 4 * (i - first), 4))
            if chain | 1 == value | 1:
                text, section = self.entry(i)[:2]
                if text == name and section:
                    return True
            if chain & 1:
                break
            i += 1
        return False

    def table(self):
        """Name to (address, size); of several versions the default one."""
        found = {}
        for i in range(1, self.count()):
            text, section, value, size, hidden = self.entry(i)
            if section and value and (text not in found or not hidden):
                found[text] = (self.base + value) & (1 << 64) - 1, size
        return found


def tell(line):
    """A line for `konfiscator attach`, not held back in a buffer of gdb."""
    text = "\n" + line.replace("\n", " ") + "\n"
    os.write(1, text.encode("utf-8", "replace"))


def mappings():
    """(begin, end, protection, path) of each mapping."""
    path = f"/proc/{PID}/maps"
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            part = line.rstrip("\n").split(None, 5)
            begin, end = (int(n, 16) for n in part[0].split("-"))
            yield begin, end, part[1], part[5] if len(part) > 5 else ""


def objects():
    """The path and the span of each file with code."""
    spans, code = {}, set()
    for begin, end, protection, path in mappings():
        if path.startswith("/"):
            spans[path] = (spans.get(path, (begin, 0))[0], end)
            if "x" in protection:
                code.add(path)
    return {path: span for path, span in spans.items() if path in code}


def is_libc(name):
    return name == "libc.so.6" or re.fullmatch(r"libc-2\..*\.so", name)


def is_linker(name):
    return name.startswith("ld-linux") or re.fullmatch(r"ld-2\..*\.so", name)


def is_ours(name):
    return name.startswith("libkonfiscator.so")


def malloc_range(symbols, span):
    """The C library's malloc with its static functions, which have no names.

    They are one object file: so all of the code between the functions with a
    name before it and behind it. Names that are led elsewhere do not count.
    """
    inside = {
        name: (at, at + size)
        for name, (at, size) in symbols.items()
        if span[0] <= at < span[1] and size
    }
    names = [p + name for name in MALLOC for p in ("", "__libc_")]
    own = [inside[name] for name in names if name in inside]
    first, last = min(own)[0], max(own)[1]
    before = [end for _, end in inside.values() if end <= first]
    behind = [at for at, _ in inside.values() if at >= last]
    return max(before, default=first), min(behind, default=last)


class Target:
    """What is known of the process before it is stopped."""

    def __init__(self):
        self.mem = os.open(f"/proc/{PID}/mem", os.O_RDONLY)
        self.busy, self.libc, self.state = [], {}, 0
        program = os.readlink(f"/proc/{PID}/exe")
        for path, span in objects().items():
            self.see(os.path.basename(path), span, path == program)
        if not self.libc or not self.state:
            raise Refused("it has no GNU C library")

    def see(self, name, span, is_program):
        try:
            image = Image(self.mem, span[0])
        except (OSError, Refused):
            return
        if is_libc(name):
            self.see_libc(image.table(), span)
        elif is_linker(name):
            self.state = image.table()["_r_debug"][0] + 24
            self.busy.append(span)
        elif is_ours(name):
            self.busy.append(span)
        elif image.defines("malloc"):
            if is_program:
                raise Refused("its malloc is in the program itself, whose "
                              "calls cannot be redirected")
            self.busy.append(span)

    def see_libc(self, symbols, span):
        self.libc = {name: at for name, (at, _) in symbols.items()}
        self.busy.append(malloc_range(symbols, span))
        for name in BUSY:
            at, size = symbols.get(name, (0, 0))
            if size:
                self.busy.append((at, at + size))

    def is_busy(self, pc):
        return any(begin <= pc < end for begin, end in self.busy)

    def is_consistent(self):
        """Whether no thread is about to change the list of objects."""
        state = os.pread(self.mem, 4, self.state)
        if len(state) != 4:
            raise Refused("it has ended, or runs another program now")
        return struct.unpack("<i", state)[0] == 0


def execute(command):
    gdb.execute(command, to_string=True)


def register(*names):
    for name in names:
        value = gdb.parse_and_eval("$" + name)
        if value.type.code != gdb.TYPE_CODE_VOID:
            return int(value) & (1 << 64) - 1
    return 0


def has_stack():
    """Whether the thread is on a stack of its own with room for the calls.

    Coroutines have small stacks, in memory that others use too. The first
    thread's stack has a name; in those of others is the thread pointer.
    """
    sp, pointer = register("sp"), register("fs_base", "tpidr")
    for begin, end, _, name in mappings():
        if begin <= sp < end:
            return name == "[stack]" or (
                begin <= pointer < end and sp - begin >= STACK_NEEDED
            )
    return False


def frames():
    """The addresses of the calls of the selected thread, innermost first."""
    found, frame = [], gdb.newest_frame()
    while frame is not None and len(found) < MAX_FRAMES:
        # A call that does not return may be a function's last instruction.
        found.append(max(frame.pc() - (1 if found else 0), 0))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


class Unwinder:
    """Frames by the tables of the objects on the stack, read where needed."""

    def __init__(self):
        self.read = set()

    def see(self, calls):
        """Read the tables of objects with these addresses; whether any was."""
        names = {gdb.solib_name(pc) for pc in calls} - self.read - {None}
        for name in names:
            execute("sharedlibrary " + re.escape(os.path.basename(name)))
        self.read |= names
        return bool(names)

    def walk(self):
        calls = frames()
        while self.see(calls):
            calls = frames()
        return calls


def may_trap():
    """Whether the selected thread can be called and come back.

    It comes back by a breakpoint, which is a SIGTRAP: where that is blocked, the
    kernel takes the program's handler away.
    """
    masks = {}
    tid = gdb.selected_thread().ptid[1]
    path = f"/proc/{PID}/task/{tid}/status"
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            name, _, value = line.partition(":")
            if name in ("SigBlk", "SigCgt"):
                masks[name] = int(value, 16)
    return not masks["SigBlk"] & masks["SigCgt"] & 1 << signal.SIGTRAP - 1


def is_safe(target, unwinder):
    """Whether the selected thread holds no lock that the calls need."""
    if not may_trap():
        return False
    calls = unwinder.walk()
    return not any(target.is_busy(pc) for pc in calls) and has_stack()


def choose(target):
    """Select a thread at a safe point, the first one if possible."""
    if not target.is_consistent():
        return False
    unwinder = Unwinder()
    threads = gdb.selected_inferior().threads()
    for thread in sorted(threads, key=lambda t: t.ptid[1] != PID):
        thread.switch()
        if is_safe(target, unwinder):
            return True
    return False


class Caller:
    """Calls functions of the process, in the selected thread.

    gdb cannot end a call that waits for a lock: `konfiscator attach` does it,
    by a SIGTRAP that gdb does not pass on; then gdb puts the registers back.
    It hears the thread's number before each call, "called" after it, and answers
    with "l" if it has sent the signal.
    """

    def __init__(self, target):
        self.libc_at = target.libc
        self.keeper = None

    def call(self, address, kind, *args, ends=True):
        if self.keeper:
            address = self.keeper.around(address)
        tid = gdb.selected_thread().ptid[1] if ends else 0
        text = ", ".join(f"({t}){v}" for t, v in args)
        value, why = None, None
        tell(f"calling {tid}")
        try:
            value = int(gdb.parse_and_eval(f"(({kind}){address})({text})"))
        except gdb.error as e:
            why = str(e)
        tell("called")
        late = os.read(ANSWERS, 1) == b"l"
        if late and value is not None:
            self.swallow()
        if value is not None:
            return value
        restore = self.keeper.restore() if self.keeper else 0
        if restore:
            self.evaluate(restore)
        raise Refused(
            "loading the library took too long: another thread may be in the "
            "dynamic linker" if late else why
        )

    def swallow(self):
        """The call ended as the signal came: let another one take it."""
        self.evaluate(self.libc_at["getpid"])

    @staticmethod
    def evaluate(address):
        try:
            gdb.parse_and_eval(f"((int (*)()){address})()")
        except gdb.error:
            pass

    def libc(self, name, *args):
        return self.call(self.libc_at[name], "long (*)()", *args)

    def make_pages(self):
        """Memory for names; and for the keeper, whose code comes first."""
        page = self.map(SCRATCH, 3)
        if Keeper.is_needed():
            try:
                code = self.map(CODE, 5)
            except Refused:
                self.drop(page, SCRATCH)
                raise
            self.keeper = Keeper(code, page + SCRATCH // 4)
        return page

    def drop_pages(self, page):
        keeper, self.keeper = self.keeper, None
        if keeper:
            self.drop(keeper.code, CODE)
        self.drop(page, SCRATCH)

    def map(self, size, protection):
        page = self.libc(
            "mmap", ("long", 0), ("long", size), ("int", protection),
            ("int", 0x22), ("int", -1), ("long", 0),
        )  # fmt: skip
        if page in (0, -1):
            raise Refused("it has no memory for a page, or may not map code")
        return page

    def drop(self, page, size):
        try:
            self.libc("munmap", ("long", page), ("long", size))
        except Refused:
            pass  # the page stays; the reason is told already


def text_at(at):
    data = gdb.selected_inferior().read_memory(at, 512).tobytes()
    return data.split(b"\0")[0].decode("utf-8", "replace")


def call_in(caller, page):
    """Load the library and call its function; names are in the page."""
    inferior, name = gdb.selected_inferior(), os.environ["KF_FUNCTION"]
    inferior.write_memory(page, os.fsencode(os.environ["KF_LIBRARY"]) + b"\0")
    inferior.write_memory(page + SCRATCH // 2, name.encode() + b"\0")
    mode = RTLD_NOW | (0 if os.environ["KF_LOAD"] == "1" else RTLD_NOLOAD)
    handle = caller.libc("dlopen", ("long", page), ("int", mode))
    if not handle:
        why = caller.libc("dlerror")
        raise Refused(text_at(why) if why else "the library is not there")
    function = caller.libc("dlsym", ("long", handle),
                           ("long", page + SCRATCH // 2))
    if not function:
        raise Refused("the library has no " + name)
    sample = ("long", os.environ["KF_SAMPLE"])
    why = caller.call(function, "long (*)()", sample, ends=False)
    if why:
        raise Refused(text_at(why))


def load_and_call(caller):
    page = caller.make_pages()
    try:
        call_in(caller, page)
    finally:
        caller.drop_pages(page)


def settings():
    for setting in (
        "debug-file-directory /nonexistent", "exec-file-mismatch off",
        "confirm off", "pagination off", "height 0", "width 0",
        "auto-load off", "auto-solib-add off", "unwindonsignal on",
        "print thread-events off", "print inferior-events off",
    ):  # fmt: skip
        execute("set " + setting)
    execute("handle all nostop noprint pass")
    execute("handle SIGINT nostop noprint pass")
    execute("handle SIGTRAP stop print nopass")
    if Keeper.is_needed():
        file = os.memfd_create("registers")
        os.write(file, plain_registers().encode())
        execute(f"set tdesc filename /proc/{os.getpid()}/fd/{file}")
    # What gdb reads now it need not read while the process is stopped.
    execute(f"file /proc/{PID}/exe")


def try_once(target):
    """Stop the process, and make the calls if a thread is at a safe point.

    Returns whether one was, and the ms that the process was stopped for.
    """
    began = time.monotonic()
    execute(f"attach {PID}")
    try:
        safe = choose(target)
        if safe:
            load_and_call(Caller(target))
    finally:
        execute("detach")
    return safe, (time.monotonic() - began) * 1000


def main():
    deadline = time.monotonic() + LIMIT
    target = Target()
    settings()
    stopped = 0
    while True:
        safe, ms = try_once(target)
        stopped += ms
        if safe:
            return stopped
        if time.monotonic() > deadline:
            raise Refused(
                "no thread reached a safe point: at each check every thread was "
                "in malloc or in the dynamic linker, or blocked SIGTRAP"
            )
        time.sleep(RETRY_S)


try:
    tell(f"ok {main():.1f}")
except Refused as e:
    tell(f"no {e}")
except Exception as e:  # pylint: disable=broad-except
    tell(f"no gdb: {str(e).strip()}")
