# SPDX-License-Identifier: LGPL-2.1-or-later
"""The registers of a process whose functions gdb calls, for attach.py.

On x86-64 gdb keeps the plain ones, and code in the process keeps the others.
"""

import re
import struct

import gdb


def plain_registers():
    """A description of x86-64 without what XSAVE keeps in other places.

    gdb 13 and older take for granted where each processor has the parts of its
    XSAVE area, and write some of AVX-512 to wrong places on others. It leaves
    alone what it does not know of; the Keeper keeps that.
    """
    whole = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"
    typed = {"rbp": "data_ptr", "rsp": "data_ptr"}
    core = [(name, 64, typed.get(name, "int64")) for name in whole.split()]
    core.append(("rip", 64, "code_ptr"))
    for name in "eflags cs ss ds es fs gs".split():
        core.append((name, 32, "int32"))
    core += [(f"st{i}", 80, "i387_ext") for i in range(8)]
    for name in "fctrl fstat ftag fiseg fioff foseg fooff fop".split():
        core.append((name, 32, "int32"))
    sse = [(f"xmm{i}", 128, "uint128") for i in range(16)]
    sse.append(("mxcsr", 32, "int32"))
    bases = [(name, 64, "int64") for name in ("fs_base", "gs_base")]
    text = "<target><architecture>i386:x86-64</architecture>"
    text += "<osabi>GNU/Linux</osabi>"
    for feature, registers in (
        ("core", core), ("sse", sse), ("linux", [("orig_rax", 64, "int64")]),
        ("segments", bases),
    ):  # fmt: skip
        text += f'<feature name="org.gnu.gdb.i386.{feature}">'
        for name, bits, kind in registers:
            text += f'<reg name="{name}" bitsize="{bits}" type="{kind}"/>'
        text += "</feature>"
    return text + "</target>"


class Keeper:
    """Keeps the registers that functions may change, by code in the process.

    The thread may have been interrupted in a strlen that uses vectors and
    masks, or in a copy with the direction flag set.
    """

    ALL = "b8ffffffff" "baffffffff"  # mov $-1,%eax; mov $-1,%edx
    SAVE = (
        "fc" "55" "4889e5" "4989d2"  # cld; push %rbp; mov %rsp,%rbp; mov %rdx,%r10
        + ALL + "49bb{area}"         # mov $area,%r11
        "490fae23"                   # xsave64 (%r11)
        "4c89d2" "31c0"              # mov %r10,%rdx; xor %eax,%eax
        "49bb{function}" "41ffd3"    # mov $function,%r11; call *%r11
        "4989c2"                     # mov %rax,%r10
    )
    RESTORE = (
        ALL + "49bb{area}"
        "490fae2b"                   # xrstor64 (%r11)
        "4c89d0"                     # mov %r10,%rax
    )

    def __init__(self, code, area):
        self.code, self.area = code, area

    def write(self, text, function=0):
        words = {"area": self.area, "function": function}
        text = text.format(
            **{name: struct.pack("<Q", n).hex() for name, n in words.items()}
        )
        gdb.selected_inferior().write_memory(self.code, bytes.fromhex(text))
        return self.code

    def around(self, function):
        """The address of code that calls a function and restores all."""
        return self.write(self.SAVE + self.RESTORE + "5d" "c3", function)

    def restore(self):
        """The address of code that restores all after an ended call.

        0: the call has not come to save anything, nor to change it.
        """
        saved = gdb.selected_inferior().read_memory(self.area + 512, 8)
        return self.write(self.RESTORE + "c3") if any(saved.tobytes()) else 0

    @staticmethod
    def is_needed():
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            return re.search(r"^flags\t.*\bxsave\b", f.read(), re.M)
