# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was measured, and the arithmetic on it: medians, spreads, ratios,
geometric means. Kept as JSON; bench/README.md has the format."""

import json
import math
import os
import statistics

from suite import die

FORMAT = "konfiscator-bench 1"
TIMES = ("wall", "cpu")
RESIDENT = ("rss", "mean", "end")
SMALL = ("dirty", "pss")
FIGURES = TIMES + RESIDENT + SMALL

# Bytes of peak RSS under the reference. The resident pages of smaller programs are
# mostly of files, which the kernel maps many at a time: such programs are compared
# by the figures SMALL, as bench/small.py does.
RSS_FROM = 8 << 20

# Stands for another peer in each test: the best but the subject.
BEST = "best of each test"


def spread(values):
    """The interquartile range as a share of the median."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    middle = statistics.median(values)
    return (high - low) / middle if middle else 0.0


def middle(values):
    """The median, and where 95 % of such series have theirs: by ranks, whatever
    the distribution. Of few values: the least and the largest."""
    ordered = sorted(values)
    below, rank = 0.0, 1
    for i in range(len(ordered) // 2):
        below += math.comb(len(ordered), i) / 2 ** len(ordered)
        if below > 0.025:
            break
        rank = i + 1
    return statistics.median(ordered), ordered[rank - 1], ordered[-rank]


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


class Row:
    """A test of the results: `runs` has the figures of each peer as lists, or
    its failure; a skipped test has a reason instead."""

    def __init__(self, data):
        self.name = data["name"]
        self.group = data["group"]
        self.command = data["command"]
        self.skip = data.get("skip")
        self.runs = data.get("runs", {})

    def data(self):
        data = {"name": self.name, "group": self.group,
                "command": self.command}
        if self.skip:
            data["skip"] = self.skip
        else:
            data["runs"] = self.runs
        return data

    def failure(self, peer):
        return self.runs.get(peer, {}).get("fail")

    def values(self, peer, figure):
        """All rounds of a peer; none where it failed or did not run."""
        if self.failure(peer):
            return []
        return self.runs.get(peer, {}).get(figure, [])

    def median(self, peer, figure):
        values = self.values(peer, figure)
        # No time at all has been measured: nothing can be compared to it.
        return (statistics.median(values) or None) if values else None

    def spread(self, peer, figure):
        return spread(self.values(peer, figure))

    def ratio(self, peer, other, figure):
        mine, yours = self.median(peer, figure), self.median(other, figure)
        return mine / yours if mine and yours else None


class Results:
    """A whole invocation: `head` says with what and on what it was made."""

    def __init__(self, head, rows):
        self.head = head
        self.rows = rows

    @property
    def peers(self):
        return list(self.head["peers"])

    @property
    def subject(self):
        return self.head["subject"]

    @property
    def reference(self):
        return self.head["reference"]

    @property
    def again(self):
        """The second copy of the reference, which is no peer; or None."""
        return self.head.get("again")

    def columns(self):
        """The peers, and the second copy of the reference after it."""
        names = self.peers
        if self.again:
            names.insert(names.index(self.reference) + 1, self.again)
        return names

    def others(self):
        return [p for p in self.peers if p != self.subject]

    def best(self, row, figure):
        """The best of the others at a test, or None."""
        able = [p for p in self.others() if row.median(p, figure)]
        return min(able, key=lambda p: row.median(p, figure), default=None)

    def counts(self, row, figure):
        """Whether a test has a part in a figure: of memory by what the
        reference needs."""
        peak = row.median(self.reference, "rss") or 0
        return figure in TIMES or \
            (figure in RESIDENT) == (peak >= RSS_FROM)

    def mean(self, peer, other, figure, group=None, rows=None):
        """The geometric mean of the ratios of peer to other, of which one may
        be BEST, and of how many tests; None where both have a figure for
        none."""
        def at(row, name):
            return self.best(row, figure) if name == BEST else name

        ratios = [r.ratio(at(r, peer), at(r, other), figure)
                  for r in (self.rows if rows is None else rows)
                  if (not group or r.group == group) and
                  self.counts(r, figure)]
        ratios = [r for r in ratios if r]
        return (geometric_mean(ratios), len(ratios)) if ratios else None

    def groups(self):
        """The groups that have a figure, in the order of the suite."""
        return list(dict.fromkeys(r.group for r in self.rows if r.runs))

    def failures(self):
        return [(r.name, p, r.failure(p)) for r in self.rows
                for p in self.columns() if r.failure(p)]

    def save(self, path):
        """All or nothing, so that a broken run leaves the last whole state."""
        data = dict(self.head, format=FORMAT,
                    tests=[r.data() for r in self.rows])
        new = "%s.new.%d" % (path, os.getpid())
        with open(new, "w", encoding="utf-8") as f:
            json.dump(data, f, indent=1)
            f.write("\n")
        os.replace(new, path)


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
    except OSError as e:
        die("%s: %s" % (path, e.strerror))
    except ValueError as e:
        die("%s: not JSON: %s" % (path, e))
    found = data.pop("format", None) if isinstance(data, dict) else None
    if found != FORMAT:
        die("%s: format is '%s', wanted is '%s'" % (path, found, FORMAT))
    rows = [Row(t) for t in data.pop("tests")]
    return Results(data, rows)
