#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""english.py LIST FILE...: phrases that english.txt forbids, in texts for users.

Texts are the strings of C and .def files, and all of the others but their code
(in Markdown: lines indented by four blanks) and comments of roff. A text is read
as one line, so that a phrase may be broken. Prints FILE:LINE: PHRASE (ADVICE).
"""
import re
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def blank(match):
    """The same lines without the text."""
    return re.sub(r"[^\n]", " ", match.group())


def strings(text):
    """All but the strings is blank; a break between two strings is none."""
    text = COMMENT.sub(blank, text)
    text = re.sub(r"(?m)^#\s*include.*$", "", text)
    out, end = [], 0
    for match in STRING.finditer(text):
        between = text[end:match.start()]
        if end and not between.strip():
            out.append("\n" * between.count("\n"))
        else:
            out.append("\0" + "\n" * between.count("\n"))
        out.append(match.group(1).replace("\\n", " "))
        end = match.end()
    return "".join(out)


def prose(name, text):
    """A text without the lines that are no prose."""
    if re.search(r"\.([ch]|def)$", name):
        return strings(text)
    drop = r"(?m)^( {4}.*|\t.*)$" if name.endswith(".md") else r'(?m)^\.\\".*$'
    return re.sub(drop, "\0", text)


def phrases(path):
    """The pairs of the list: expression and advice."""
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            expression, advice = line.rstrip("\n").split("\t")
            yield re.compile(expression.replace(" ", r"\s+")), advice


def main():
    forbidden = list(phrases(sys.argv[1]))
    if not forbidden:
        sys.exit(f"{sys.argv[1]} is empty")
    faults = 0
    for name in sys.argv[2:]:
        text = prose(name, open(name, encoding="utf-8").read()).lower()
        for expression, advice in forbidden:
            for match in expression.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found = " ".join(match.group().split())
                print(f"{name}:{line}: {found} ({advice})")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
