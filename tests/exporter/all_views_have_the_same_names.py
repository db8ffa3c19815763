# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""report, top, explain, folded stacks, the HTML page, pprof's format and the
exporter's pages have the same stacks of one process, with the same bytes: without
wrappers of malloc, and with each recursion once. In pprof's format functions of one
name in different files are different functions."""

import collections
import html
import json
import os
import re
import subprocess
import sys

import kfpprof
import kftest

PROGRAM = """
#include <cstdlib>
#include <memory>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))

static void *volatile kept[1000];
static int nr;
struct node { char bytes[30000]; };

NOINLINE static void fill() { kept[nr++] = malloc(70000); }
NOINLINE void other();
NOINLINE void own() { fill(); nr += 0; }
NOINLINE static void *xmalloc(size_t n) { return kept[nr++] = malloc(n); }
NOINLINE void nodes() { kept[nr++] = new node; }
template <class T> NOINLINE void grow()
{
	kept[nr++] = std::allocator<T>().allocate(10000);
}
/* named as compilers name copies and parts of functions */
NOINLINE void copied() asm("_Z6copiedv.constprop.0");
void copied() { kept[nr++] = malloc(90000); }
extern "C" NOINLINE void parted() asm("parted.part.0");
void parted() { kept[nr++] = malloc(110000); }
NOINLINE int down(int n) { return n ? down(n - 1) + 1 : !xmalloc(50000); }
NOINLINE int pong(int n);
NOINLINE int ping(int n) { return n ? pong(n - 1) + 1 : !xmalloc(60000); }
NOINLINE int pong(int n) { return ping(n) + 1; }

int main()
{
	for (int i = 0; i < 20; i++) {
		nodes();
		copied();
		parted();
		grow<int>();
		grow<long>();
		down(i % 5);
		ping(i % 3);
		own();
		other();
	}
	return write(1, "done\\n", 5) + (int)read(0, (void *)&kept[0], 1);
}
"""
OTHER = """
#include <cstdlib>
static void *volatile kept[100];
static int nr;
__attribute__((noinline, noclone)) static void fill()
{
	kept[nr++] = malloc(80000);
}
__attribute__((noinline)) void other() { fill(); nr += 0; }
"""
STACKS = ["nodes() < main", "copied() < main", "parted < main",
          "void grow<int>() < main", "void grow<long>() < main",
          "down(int) (recursive) < main",
          "ping(int) < pong(int) (recursive) < ping(int) (recursive) < main",
          "ping(int) < main", "fill() < own() < main", "fill() < other() < main"]

SCRIPT = """
import sys
kept = []

def remember():
    kept.append(bytearray(1000000))

def down(n):
    if n:
        return down(n - 1)
    return remember()

for i in range(20):
    down(i % 5)
print("done", flush=True)
sys.stdin.readline()
"""
CALLS = ["remember (app.py:6) < down (app.py:11) (recursive) < "
         "<module> (app.py:14)"]
MARK = " (recursive)"
OUTMOST = re.compile(r"main$|<module> \(app\.py")


def begin(world, *command):
    os.symlink(os.environ["KF_LIB"], world.path("lib.so"))
    process = world.run(
        "env", "LD_PRELOAD=" + world.path("lib.so"),
        "KONFISCATOR_DIR=" + world.stats, "KONFISCATOR_SAMPLE=1", *command,
        bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"done\n"
    return process


def stack_of(calls):
    """The calls from the inside out, to the outmost of the program's own."""
    for i, call in enumerate(calls):
        if OUTMOST.match(call):
            return " < ".join(calls[:i + 1])
    return None


def rows_of(rows):
    """The bytes of each stack; a view has no stack twice."""
    all_rows = [(stack, live) for stack, live in
                ((stack_of(calls), live) for calls, live in rows) if stack]
    assert len(all_rows) == len(dict(all_rows)), all_rows
    return dict(all_rows)


def of_table(table):
    return rows_of((row["stack"].split(" < "), row["live_bytes"])
                   for row in table if "stack" in row)


def of_lines(text):
    """top's table."""
    return rows_of((found[2].split(" < "), int(found[1])) for found in
                   re.finditer(r"^\S+ +\d+ +(\d+) +\d+ +\S+ +\d+ +(.*)$",
                               text, re.MULTILINE))


def of_folded(text):
    return rows_of((stack.split(";")[::-1], int(live)) for stack, live in
                   (line.rsplit(" ", 1) for line in text.splitlines()))


def label(name, file, line):
    return "%s (%s:%d)" % (name, os.path.basename(file), line) \
        if file.endswith(".py") else name


def of_pprof(packed):
    profile = kfpprof.Profile(packed)
    live = collections.Counter()
    for calls, (_, values, _) in zip(profile.lines, profile.samples):
        stack = stack_of([label(*call) for call in calls])
        if stack:
            live[stack] += values[3]
    return live, profile


def of_page(page):
    """The HTML page of report; its figures are rounded."""
    def call(name, mark, place):
        file, _, line = place.rpartition(":")
        return label(name, file, int(line) if file else 0) + mark

    by_bytes = page[:page.index('<div class="by-2"><p')]
    return rows_of(([call(*map(html.unescape, c)) for c in re.findall(
        r'([^<>]*?)( \(recursive\))? <span class="note">([^<]*)</span><br>',
        row)], 0) for row in re.findall("<tr>(.*?)</tr>", by_bytes)
        if "<br>" in row)


def of_exporter(page):
    page = page[page.index('id="sites"'):]
    page = page[:page.index("</section>")]
    return rows_of(([html.unescape(c) for c in
                     re.findall("<li><code>(.*?)</code>", row)],
                    int(re.search(r'title="(\d+) bytes', row)[1]))
                   for row in page.split("<details>")[1:])


def of_tree(node, recursive, calls=()):
    """The stacks of a tree of calls; adds those that are recursive."""
    own = node["live"] - sum(c["live"] for c in node.get("children", []))
    if own:
        yield list(calls), own
    if node.get("recursive"):
        recursive.add(node["name"])
    for child in node.get("children", []):
        yield from of_tree(child, recursive, (child["name"], *calls))


def views_agree(world, process, stacks):
    """Of what was asked for, all views say the same; returns the profiles."""
    file, = [os.path.join(world.stats, n) for n in world.stats_names()
             if ".%d." % process.pid in n]
    cli = [os.environ["KF_CLI"], "--dir=" + world.stats, "-q", "--bytes"]

    def out(*command):
        return subprocess.run([*cli, *command], check=True,
                              stdout=subprocess.PIPE).stdout.decode()

    def written(suffix):
        out("report", "-o", world.path("out." + suffix), file)
        with open(world.path("out." + suffix), "rb") as f:
            return f.read()

    exporter = world.exporter()

    def got(path):
        status, _, body = exporter.request(path)
        assert status == 200, (path, status)
        return body

    page = got("/process?pid=%d" % process.pid).decode()
    tree = re.search('"(/api/v1/stacks[^"]*)"', page)[1]
    report = of_table(json.loads(out("--format=json", "report",
                                     "--view=leaks", "--rows=0", file)))
    assert set(stacks) <= set(report), report
    want = {stack: report[stack] for stack in stacks}
    plain = {k.replace(MARK, ""): v for k, v in want.items()}
    explained = json.loads(out("--format=json", "explain", "--watch=0", "-p",
                               str(process.pid)))
    own, profile = of_pprof(written("pb.gz"))
    recursive = set()
    for view, wanted, has in (
            ("explain", want, of_table(explained[0]["stacks"])),
            ("top", want, of_lines(out("top", "--batch=1", "--view=sites"))),
            ("folded", plain, of_folded(written("folded").decode())),
            ("page", dict.fromkeys(want, 0), of_page(written("html").decode())),
            ("pb.gz", plain, own), ("exporter's heap", plain, of_pprof(got("/debug/pprof/heap"))[0]),
            ("exporter's page", want, of_exporter(page)),
            ("exporter's tree", plain,
             rows_of(of_tree(json.loads(got(tree)), recursive)))):
        has = {k: v for k, v in has.items() if k.split(" < ")[0] in
               {s.split(" < ")[0] for s in wanted}}
        assert has == wanted, "%s: %s, and not %s" % (view, has, wanted)
    marked = {call[:-len(MARK)] for stack in want
              for call in stack.split(" < ") if call.endswith(MARK)}
    assert marked <= recursive, recursive
    return profile


def of_a_program_in_cxx(world):
    for name, text in (("program.cc", PROGRAM), ("other.cc", OTHER)):
        with open(world.path(name), "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run([*os.environ.get("CXX", "c++").split(), "-w", "-g", "-O0", "-o",
                    world.path("program"), world.path("program.cc"),
                    world.path("other.cc")], check=True)
    process = begin(world, world.path("program"))
    profile = views_agree(world, process, STACKS)
    fills = sorted(os.path.basename(file) for name, file in
                   profile.functions.values() if name == "fill()")
    assert fills == ["other.cc", "program.cc"], fills


def of_a_program_in_python(world):
    with open(world.path("app.py"), "w", encoding="utf-8") as f:
        f.write(SCRIPT)
    views_agree(world, begin(world, sys.executable, world.path("app.py")), CALLS)


kftest.main(of_a_program_in_cxx, of_a_program_in_python)
