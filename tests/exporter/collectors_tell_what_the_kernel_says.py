# SPDX-License-Identifier: LGPL-2.1-or-later
"""Resident memory is that of procfs, cgroup figures are those of their files,
sizes add up to the live blocks; each can be left out."""

import html
import os
import re

import kftest

MIB = 1 << 20


def statm(pid):
    with open("/proc/%d/statm" % pid) as f:
        _, resident, shared = map(int, f.read().split()[:3])
    page = os.sysconf("SC_PAGESIZE")
    return (resident - shared) * page, shared * page


def resident_memory_is_that_of_procfs(world):
    sleepers = [world.sleeper() for _ in range(3)]
    for s in sleepers:
        world.stats_file("s.%d" % s.pid, pid=s.pid)
    exporter = world.exporter("--resident.smaps")

    def both_say_the_same():
        page = exporter.scrape()
        return page if [page.get("konfiscator_resident_bytes", kind=kind)
                        for kind in ("anon", "file")] == [
            sum(kind) for kind in zip(*(statm(s.pid) for s in sleepers))
        ] else None
    page = kftest.until("the same figures", both_say_the_same)
    anon, file = (page.get("konfiscator_resident_bytes", kind=kind)
                  for kind in ("anon", "file"))
    share = page.get("konfiscator_proportional_bytes")
    assert 0 < share <= anon + file, share
    assert page.get("konfiscator_swapped_bytes") >= 0
    world.end(sleepers[0])
    assert exporter.scrape().get("konfiscator_resident_bytes",
                                 kind="anon") < anon


def cgroups(root, pid):
    """Make what the kernel would say of a process' cgroup, in both versions;
    the directory, the version, the path."""
    with open("/proc/%d/cgroup" % pid) as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    v1 = [path for _, names, path in lines if "memory" in names.split(",")]
    path = v1[0] if v1 else [p for n, names, p in lines if not names][0]
    directory = root + ("/memory" if v1 else "") + path
    os.makedirs(directory, exist_ok=True)
    return directory, bool(v1), path


def write(directory, **files):
    for name, text in files.items():
        with open(os.path.join(directory, name.replace("__", ".")), "w") as f:
            f.write(text + "\n")


def cgroup_figures_are_those_of_their_files(world):
    sleeper = world.sleeper()
    world.stats_file("s.%d" % sleeper.pid, pid=sleeper.pid)
    directory, v1, path = cgroups(world.path("cg"), sleeper.pid)
    if path == "/":
        raise kftest.Skip("a cgroup of its own")
    if v1:
        write(directory, memory__usage_in_bytes=str(5 * MIB),
              memory__limit_in_bytes=str(9223372036854771712),
              memory__failcnt="7",
              memory__oom_control="oom_kill_disable 0\noom_kill 2")
        write(os.path.dirname(directory), memory__limit_in_bytes=str(64 * MIB))
    else:
        write(directory, memory__current=str(5 * MIB), memory__max="max",
              memory__events="low 0\nmax 7\noom_kill 2")
        write(os.path.dirname(directory), memory__max=str(64 * MIB))
    exporter = world.exporter("--path.cgroupfs=" + world.path("cg"))
    page = exporter.scrape()
    assert page.get("konfiscator_cgroup_memory_bytes", cgroup=path) == 5 * MIB
    if os.path.dirname(path) != "/":  # the root has no limit
        assert page.get("konfiscator_cgroup_memory_limit_bytes",
                        cgroup=path) == 64 * MIB
    events = "konfiscator_cgroup_memory_events_total"
    assert page.get(events, event="max") == 7
    assert page.get(events, event="oom_kill") == 2
    world.end(sleeper)
    assert not exporter.scrape().label_values(events, "cgroup")


def pages_show_limits_and_who_is_near(world):
    sleeper = world.sleeper()
    world.stats_file("s.%d" % sleeper.pid, pid=sleeper.pid, mapped=3 * MIB)
    directory, v1, path = cgroups(world.path("cg"), sleeper.pid)
    if path == "/":
        raise kftest.Skip("a cgroup of its own")
    current = "memory__usage_in_bytes" if v1 else "memory__current"
    limit = "memory__limit_in_bytes" if v1 else "memory__max"
    write(directory, **{current: str(16 * MIB), limit: str(64 * MIB)})
    exporter = world.exporter("--path.cgroupfs=" + world.path("cg"))
    page = exporter.request("/")[2].decode()
    row = page.split('id="containers"')[1].split("</section>")[0]
    row = " ".join(re.sub("<[^>]*>", " ", row).split())
    assert row.endswith("%s 1 3.00 MiB 16.0 MiB 25.0 %% 64.0 MiB 48.0 MiB"
                        % html.escape(path)), row
    assert "of its limit" not in page
    write(directory, **{current: str(60 * MIB)})
    assert "94 % of its limit of" in exporter.request("/")[2].decode()


def sizes_add_up_to_live_blocks(world):
    sleeper = world.sleeper()
    world.stats_file("s.%d" % sleeper.pid, pid=sleeper.pid,
                     blocks="64:100:40")
    page = world.exporter("--collector.sizes").scrape()
    sizes = "konfiscator_size_live_blocks"
    assert page.get(sizes, size="64") == 60
    total = sum(v for (name, _), v in page.samples.items() if name == sizes)
    assert total == page.get("konfiscator_live_blocks") == 60
    assert len(page.label_values(sizes, "size")) == 13


def each_can_be_left_out(world):
    sleeper = world.sleeper()
    world.stats_file("s.%d" % sleeper.pid, pid=sleeper.pid)
    page = world.exporter("--no-collector.stats",
                          "--no-collector.resident",
                          "--no-collector.cgroup",
                          "--no-collector.tags").scrape()
    names = {name for name, _ in page.samples}
    assert not any(n.startswith(("konfiscator_malloc", "konfiscator_resident",
                                 "konfiscator_cgroup", "konfiscator_size"))
                   for n in names), names
    assert not {"stats", "resident", "cgroup", "sizes"} & page.label_values(
        "konfiscator_scrape_collector_success", "collector")
    # the others do without the one that shows the counters
    page = world.exporter("--no-collector.stats").scrape()
    assert page.get("konfiscator_resident_bytes", kind="anon") > 0


kftest.main(
    resident_memory_is_that_of_procfs,
    cgroup_figures_are_those_of_their_files,
    pages_show_limits_and_who_is_near,
    sizes_add_up_to_live_blocks,
    each_can_be_left_out,
)
