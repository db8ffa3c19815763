# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results as a picture: for each test the ratio of every peer to the reference,
wall time beside peak memory."""

import sys

from suite import die

COLOURS = {"jemalloc": "#4e79a7", "tcmalloc": "#f28e2b",
           "mimalloc": "#59a14f", "konfiscator": "#d62728"}
PANELS = (("wall", "wall time"), ("rss", "peak RSS"))


def panel(axes, results, rows, figure, title):
    """A dot for each peer and test, the reference being the line at 1."""
    places = range(len(rows))
    for peer in results.peers:
        if peer == results.reference:
            continue
        got = [(r.ratio(peer, results.reference, figure), y)
               for y, r in zip(places, rows) if results.counts(r, figure)]
        got = [(x, y) for x, y in got if x]
        mine = peer == results.subject
        axes.scatter([x for x, _ in got], [y for _, y in got], label=peer,
                     color=COLOURS.get(peer), marker="D" if mine else "o",
                     s=36 if mine else 18, zorder=4 if mine else 3)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("%s, ratio to %s: left is better" %
                    (title, results.reference))
    axes.grid(axis="both", linewidth=0.3)


def write(results, path):
    """Write the picture; without matplotlib one line instead."""
    if not path.endswith(".svg"):
        die("--plot '%s' does not end in .svg" % path)
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is missing (python3-matplotlib)",
              file=sys.stderr)
        return
    matplotlib.use("svg")
    # Names stay text, so that they can be searched for.
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    rows = [r for r in results.rows if not r.skip]
    figure, panels = pyplot.subplots(
        1, 2, sharey=True, figsize=(11, 1.6 + 0.22 * len(rows)))
    for axes, (name, title) in zip(panels, PANELS):
        panel(axes, results, rows, name, title)
    panels[0].set_yticks(range(len(rows)), [r.name for r in rows])
    panels[0].invert_yaxis()
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1),
                     ncol=len(results.peers), frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
