# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# What the tests of the engine tlsf share; follows workdir.
#
#   tlsf [NAME=VALUE...] CMD...	run it under the library with the engine
#   pools ... WHAT		tests/tlsf/pools, likewise

tlsf() {
	run_under KONFISCATOR_ENGINE=tlsf "$@"
}

# shellcheck disable=SC2034 # by the tests
pools="${top_builddir:?}/tests/tlsf/pools"
