#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every function that a header declares has its kernel-doc.

The block names the function, describes every argument and no other, and says
what the function returns unless it returns nothing. Inline functions are their
own documentation. In src/abi the names of the C library and of C++ have theirs
in malloc(3) and in the standard.

Code of the preloaded library runs in malloc, in children of fork and in
handlers of signals, so there each block says in which context the function may
be called. The programs' functions are called freely: a block of theirs has a
context only where there is a limit, and none of the sentences that name none.
"""
import os
import re
import sys

TOP = os.environ["top_srcdir"]
DIRS = ("src", "exporter", "include")
LIBRARY = re.compile(r"(src(?!/cli/|/reader/|/replayer/)|include)/")
PROGRAMS = re.compile(r"(src/(cli|reader|replayer)|exporter)/")
SAYS_NOTHING = (
    "any thread",
    "any thread; allocates",
    "any thread; pure",
    "one thread",
    "one thread; allocates",
    "one thread; the command has no other",
)
MARKS = r"\b__(must_check|cold|noinline|kf_\w+)\b(\([^()]*\))?"


def headers():
    for top in DIRS:
        for where, _, names in os.walk(os.path.join(TOP, top)):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield os.path.join(where, name)


def blocks(text):
    """kernel-doc blocks: the functions each names, and its text"""
    found = {}
    for match in re.finditer(r"/\*\*\n(.*?)\*/", text, re.S):
        body = re.sub(r"(?m)^ \* ?", "", match.group(1))
        names = re.findall(r"(?m)^(\w+)\(\) - \S", body)
        for name in names:
            found[name] = body
    return found


def outermost(text):
    """the text at brace depth 0, without comments and directives"""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text)
    text = re.sub(r'extern\s+"C"\s*\{', "", text)
    out, depth = [], 0
    for char in text:
        if char == "{":
            depth += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                out.append(";")
        elif depth == 0:
            out.append(char)
    return "".join(out)


def split_arguments(inside):
    parts, depth, last = [], 0, 0
    for i, char in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(inside[last:i])
            last = i + 1
    parts.append(inside[last:])
    names = []
    for part in parts:
        part = part.strip()
        pointer = re.search(r"\(\s*\*\s*(\w+)", part)
        if part in ("", "void"):
            continue
        if part == "...":
            names.append("...")
        elif pointer:
            names.append(pointer.group(1))
        else:
            names.append(re.findall(r"\w+", re.sub(r"\[.*", "", part))[-1])
    return names


def prototypes(text):
    """(name, whether it returns nothing, argument names) of each"""
    for statement in outermost(text).split(";"):
        statement = re.sub(r"__attribute__\s*\(\(.*?\)\)+", "", statement,
                           flags=re.S)
        statement = re.sub(MARKS, "", statement)
        statement = " ".join(statement.split())
        match = re.match(r"([\w\s*]+?[\s*])(\w+) ?\((.*)\)$", statement)
        if not match or re.match(r"(static|typedef|_Static_assert)\b",
                                 statement):
            continue
        kind = re.sub(r"\b(extern|_Noreturn)\b", "", match.group(1)).strip()
        yield match.group(2), kind == "void", split_arguments(match.group(3))


def context_fault(where, body):
    """what is wrong with the context that a block gives, or None"""
    match = re.search(r"(?m)^Context:\s*(\S.*(?:\n\s+\S.*)*)", body)
    if not match:
        return "has no Context:" if LIBRARY.match(where) else None
    context = " ".join(match.group(1).split())
    if PROGRAMS.match(where) and context.rstrip(".") in SAYS_NOTHING:
        return f"has a context that says nothing: {context}"
    return None


def faults_of(where, name, nothing, arguments, body):
    if body is None:
        yield "has no kernel-doc"
        return
    described = re.findall(r"(?m)^@(\w+|\.\.\.):", body)
    for argument in arguments:
        if argument not in described:
            yield f"does not describe @{argument}"
    if len(re.findall(r"(?m)^\w+\(\) - ", body)) == 1:
        for argument in described:
            if argument not in arguments:
                yield f"describes @{argument}, which it does not take"
    fault = context_fault(where, body)
    if fault:
        yield fault
    if not nothing and not re.search(r"(?m)^Return:\s*\S", body):
        yield "has no Return:"


def main():
    count = faults = 0
    for path in headers():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        documented = blocks(text)
        where = os.path.relpath(path, TOP)
        for name, nothing, arguments in prototypes(text):
            count += 1
            if not re.match("kf_|konf_", name) and "/src/abi/" in path:
                continue
            for fault in faults_of(where, name, nothing, arguments,
                                   documented.get(name)):
                faults += 1
                print(f"{where}: {name}() {fault}", file=sys.stderr)
    print(f"{count} declared functions looked at, {faults} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
