# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
"""64 clients at once get their answers, without an error, while processes come
and go; `make bench-exporter` does the same for longer, with more of them."""

import os
import subprocess
import sys

import kftest


def no_client_sees_an_error(world):
    kftest.need("wrk")
    # AddressSanitizer would keep what is freed
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(kftest.SOURCE, "bench/exporter.py"),
         "--build", os.environ["top_builddir"],
         "--library", os.environ["KF_LIB"], "--processes", "100",
         "--names", "10", "--every", "50", "--scrapes", "1", "--seconds", "3"],
        stdout=subprocess.PIPE, text=True, check=True,
        env=dict(os.environ, ASAN_OPTIONS=options))
    print(done.stdout)
    assert "clients: 64" in done.stdout


kftest.main(no_client_sees_an_error)
