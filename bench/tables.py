# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results as tables, plain for a terminal or as markdown."""

import statistics

from results import BEST, RESIDENT, RSS_FROM, SMALL, TIMES, geometric_mean

# What the suite is held to: a ratio of time above these is told.
WORST_TO_REFERENCE = 1.10
WORST_TO_BEST = 1.50
REAL_TO_BEST = 1.03

# Tests by what the reference needs, bytes of peak RSS.
SIZES = (("%d to 32 MiB" % (RSS_FROM >> 20), RSS_FROM, 32 << 20),
         ("from 32 MiB", 32 << 20, float("inf")))

BELOW = " of tests below %d MiB" % (RSS_FROM >> 20)
TITLES = (("wall", "Wall time, s"), ("cpu", "User and system time, s"),
          ("rss", "Peak RSS, MiB"), ("mean", "Mean RSS, MiB"),
          ("end", "RSS at the end, MiB"),
          ("dirty", "Private dirty pages, KiB," + BELOW),
          ("pss", "PSS, KiB," + BELOW))
NAMES = {"wall": "wall", "cpu": "user+system", "rss": "peak RSS",
         "mean": "mean RSS", "end": "RSS at the end",
         "dirty": "private dirty" + BELOW, "pss": "PSS" + BELOW}


def amount(figure, value):
    if figure in TIMES:
        return "%.3f" % value
    if figure in SMALL:
        return "%.0f" % (value / 1024)
    return "%.1f" % (value / 2 ** 20)


def ratio(value):
    return "%.2f" % value if value else "-"


def plain(rows):
    """Columns as wide as they need be; all but the first to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(rows):
    def line(cells):
        return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
    rule = "|---|" + "---:|" * (len(rows[0]) - 1)
    return "\n".join([line(rows[0]), rule] + [line(r) for r in rows[1:]])


def cell(results, row, peer, figure):
    """A ratio to the reference; of the reference itself its amount."""
    if row.failure(peer):
        return "FAIL"
    if not row.median(peer, figure):
        return "-"
    if peer == results.reference:
        text = amount(figure, row.median(peer, figure))
    else:
        text = ratio(row.ratio(peer, results.reference, figure))
    return "%s ±%.0f" % (text, 100 * row.spread(peer, figure))


def per_test(results, figure):
    """A line a test: every peer, and the subject to the best of the others."""
    table = [["test"] + results.columns() + [results.subject + "/best"]]
    for row in results.rows:
        if row.skip or not results.counts(row, figure):
            continue
        best = results.best(row, figure)
        share = row.ratio(results.subject, best, figure) if best else None
        table.append([row.name] +
                     [cell(results, row, p, figure)
                      for p in results.columns()] +
                     ["%s %s" % (ratio(share), best) if share else "-"])
    return table


def mean_cells(got):
    """Means of wall and user+system time, and of peak RSS, of fewer tests."""
    cells = ["%.3f" % g[0] if g else "-" for g in got[:2]]
    return cells + ["%.3f of %d" % got[2] if got[2] else "-"]


def means(results):
    """The subject against each peer: geometric means by group and over all."""
    groups = results.groups()
    if len(groups) > 1:
        groups.append(None)
    table = [["%s against" % results.subject, "group", "tests", "wall",
              "user+system", "peak RSS"]]
    for peer in results.others() + [BEST]:
        for group in groups:
            got = [results.mean(results.subject, peer, f, group)
                   for f in ("wall", "cpu", "rss")]
            if not got[0]:
                continue
            table.append([peer, group or "all", str(got[0][1])] +
                         mean_cells(got))
    return table


def everyone(results):
    """Each peer against the reference, over all tests."""
    table = [["against %s" % results.reference, "tests", "wall",
              "user+system", "peak RSS"]]
    for peer in results.columns() + [BEST]:
        got = [results.mean(peer, results.reference, f)
               for f in ("wall", "cpu", "rss")]
        if peer != results.reference and got[0]:
            table.append([peer, str(got[0][1])] + mean_cells(got))
    return table


def noise(results):
    """What the reference differs from itself, a line for each figure."""
    lines = []
    for figure, name in NAMES.items():
        pairs = [(r.ratio(results.again, results.reference, figure), r.name)
                 for r in results.rows if results.counts(r, figure)]
        off = [(abs(share - 1), test) for share, test in pairs if share]
        if off:
            most, where = max(off)
            lines.append("%s: a test differs by %.1f %% in the median, by at "
                         "most %.1f %% (%s)" %
                         (name, 100 * statistics.median(o for o, _ in off),
                          100 * most, where))
    return lines


def by_size(results):
    """Peak RSS against each peer by what the reference needs."""
    table = [["peak RSS against"] + [name for name, _, _ in SIZES]]
    for peer in results.others() + [BEST]:
        cells = [peer]
        for _, least, below in SIZES:
            rows = [r for r in results.rows
                    if least <= (r.median(results.reference, "rss") or -1)
                    < below]
            got = results.mean(results.subject, peer, "rss", rows=rows)
            cells.append("%.3f of %d" % got if got else "-")
        table.append(cells)
    return table


def over_time(results):
    """Memory against each peer: resident over time, and of small programs."""
    figures = RESIDENT + SMALL
    table = [["%s against" % results.subject] + [NAMES[f] for f in figures]]
    for peer in results.others() + [BEST]:
        got = [results.mean(results.subject, peer, f) for f in figures]
        table.append([peer] + ["%.3f of %d" % g if g else "-" for g in got])
    return table


def beyond(results):
    """A line for each test in which the subject is too slow."""
    lines = []
    for row in results.rows:
        best = results.best(row, "wall")
        if not best:
            continue
        bound = REAL_TO_BEST if row.group == "real" else WORST_TO_BEST
        bounds = {best: bound}
        bounds[results.reference] = min(
            WORST_TO_REFERENCE, bounds.get(results.reference, bound))
        for peer, limit in bounds.items():
            got = row.ratio(results.subject, peer, "wall")
            if got and got > limit:
                lines.append("%s: %.2f of %s, bound is %.2f" %
                             (row.name, got, peer, limit))
    return lines


def head(results):
    h = results.head
    lines = ["commit %s, %s, kernel %s, %d CPUs, %s" %
             (h["commit"], h["cpu"], h["kernel"], h["cpus"], h["date"]),
             "%d rounds after a warm-up, in turn; medians, as ratios to %s; "
             "± is the interquartile range in %% of the median" %
             (h["rounds"], results.reference)]
    lines += ["%s: %s" % (name, peer["version"])
              for name, peer in h["peers"].items()]
    return lines


def troubles(results):
    lines = ["FAIL %s under %s: %s" % f for f in results.failures()]
    lines += ["SKIP %s: %s" % (r.name, r.skip) for r in results.rows if r.skip]
    return lines


def report(results, render=plain):
    """All of it as a text."""
    is_markdown = render is markdown
    title = "### %s" if is_markdown else "%s:"
    fence = "```" if is_markdown else None
    bullets = "- " if is_markdown else ""

    def listing(lines):
        return "\n".join(bullets + l for l in lines)

    parts = [listing(head(results))]
    if results.groups():
        for figure, name in TITLES:
            # Older results have fewer figures, a suite may have one size.
            if any(r.median(p, figure) for r in results.rows
                   for p in results.peers if results.counts(r, figure)):
                parts += [title % name, render(per_test(results, figure))]
        if results.others():
            parts += [title % "Geometric means", render(means(results)),
                      render(everyone(results)),
                      render(by_size(results)), render(over_time(results))]
        if results.again:
            parts += [title % ("Noise, %s against itself" % results.reference),
                      listing(noise(results))]
        lines = beyond(results)
        if lines:
            parts += [title % "Slower than it should be", listing(lines)]
    lines = troubles(results)
    if lines:
        parts += [fence + "\n" + "\n".join(lines) + "\n" + fence
                  if fence else "\n".join(lines)]
    return "\n\n".join(parts)


def comparison(old, new):
    """Two invocations: the subject's ratios to the reference in each, which
    another machine or a busy one does not change much, and how they changed."""
    table = [["test", "wall before", "now", "change",
              "peak RSS before", "now", "change"]]
    before = {r.name: r for r in old.rows}
    changes = {"wall": [], "rss": []}
    for row in new.rows:
        cells = [row.name]
        for figure, all_changes in changes.items():
            a = b = None
            if row.name in before:
                a = before[row.name].ratio(old.subject, old.reference, figure)
                b = row.ratio(new.subject, new.reference, figure)
            change = b / a if a and b else None
            if change and new.counts(row, figure):
                all_changes.append(change)
            cells += [ratio(a), ratio(b), ratio(change)]
        if cells[3] != "-":
            table.append(cells)
    if changes["wall"]:
        table.append(["geometric mean", "", "",
                      "%.3f" % geometric_mean(changes["wall"]), "", "",
                      "%.3f" % geometric_mean(changes["rss"])
                      if changes["rss"] else "-"])
    names = {r.name for r in new.rows}
    lost = [n for n in before if n not in names]
    lost += [r.name for r in new.rows if r.name not in before]
    return table, lost
