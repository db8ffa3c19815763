#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bundle.sh SOURCE OUT: bundle the pages' scripts in SOURCE and the libraries
# pinned by its package-lock.json into OUT/charts.js and OUT/charts.css, with the
# libraries' licences in OUT/licences.txt. Nothing is minified, so that the
# scripts of a release can be read and changed, as Debian requires of sources.
#
# The libraries come from npm's registry. If it cannot be reached the files are
# empty, with a warning, and the pages have no charts.
set -u

source=$(cd "$1" && pwd) || exit 1
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
work=$out/work

fetch()
{
	npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier \
		--fetch-retries=2 --fetch-retry-mintimeout=1000 \
		--fetch-retry-maxtimeout=5000 --fetch-timeout=60000
}

fetch_stubbornly()
{
	for wait in 2 10 0; do
		fetch >"$work/npm.log" 2>&1 && return
		sleep "$wait"
	done
	tail -n 5 "$work/npm.log" >&2
	return 1
}

licences()
{
	for licence in node_modules/*/LICENSE*; do
		name=${licence#node_modules/}
		name=${name%%/*}
		[ "$name" != esbuild ] || continue
		printf '%s\n\n' "$name"
		cat "$licence"
		printf '\n\n'
	done
}

bundle()
{
	node node_modules/esbuild/bin/esbuild main.js --bundle --line-limit=120 \
		--keep-names --charset=utf8 --target=es2020 --format=iife \
		--legal-comments=none --log-level=warning \
		--outfile=charts.js >&2 &&
		licences >licences.txt &&
		cp charts.js charts.css licences.txt "$out"
}

rm -rf "$work"
mkdir "$work" && trap 'rm -rf "$work"' EXIT && cp "$source"/package.json \
	"$source"/package-lock.json "$source"/*.js "$work" && cd "$work" || exit 1
if fetch_stubbornly; then
	bundle
	exit
fi
for file in charts.js charts.css licences.txt; do
	: >"$out/$file"
done
cat >&2 <<END

!! The libraries for the charts could not be had from npm's registry: the
!! exporter's pages are built without charts, as by --without-web.
!! To try again: rm $out/charts.js, then make

END
