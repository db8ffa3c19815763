#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# With --engine=stap the script gets the library, and the program's words reach
# it unchanged through the shell that SystemTap hands them to. A stand-in for
# stap does what stap does with -c; SystemTap itself needs a kernel for it.
. "$top_srcdir/tests/lib.sh"
grep -q '^#define KF_PROBES 1' "$top_builddir/config.h" ||
	skip "the library was built with --disable-probes"
workdir
. "$top_srcdir/tests/cli/cli.sh"

mkdir "$WORK/bin"
cat >"$WORK/bin/stap" <<'END'
#!/bin/sh
[ "$1" != -p4 ] || exit 0
[ "$1" = -I ] && [ -e "$2/konfiscator.stp" ] || { echo "args: $*"; exit 9; }
shift 2
[ "$1" = -c ] || { echo "args: $*"; exit 9; }
echo "script: $3"
echo "library: $4"
exec sh -c "$2"
END
chmod 755 "$WORK/bin/stap"
PATH=$WORK/bin:$PATH
export PATH

# shellcheck disable=SC2016 # the inner shell's
expect 4 cli trace --engine=stap mmap -- sh -c \
	'printf "%s|" "$@"; grep -c libkonfiscator /proc/$$/maps; exit 4' \
	sh "a b" "it's" '' '$HOME' '"'
# shellcheck disable=SC2016 # a dollar sign, as it is
prints 'a b|it'"'"'s||$HOME|"|'
prints "/scripts/stap/mmap.stp"
[ "$(tail -n 1 "$WORK/out" | sed 's/.*|//')" -gt 0 ] ||
	fail "the program has no library"
equal "library" "$(readlink -f "$KF_LIB")" \
	"$(readlink -f "$(sed -n 's/^library: //p' "$WORK/out")")"

# What SystemTap refuses is told in a line of ours if it is known, else in its
# own words, and the program is not started.
cat >"$WORK/bin/stap" <<'END'
#!/bin/sh
[ "$1" = -p4 ] || touch "$RAN"
cat "$SAYS" >&2
exit 1
END
RAN=$WORK/ran
SAYS=$WORK/says
export RAN SAYS
cat >"$SAYS" <<'END'
Checking "/lib/modules/5.4.3-x/build/.config" failed with error: No such file or directory
Tip: /usr/share/doc/systemtap/README.Debian should help you get started.
END
expect 1 cli trace --engine=stap mmap -- true
equal "lines about the kernel" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
if [ -e /proc/modules ]; then
	says "install linux-headers-$(uname -r)"
else
	says "the kernel $(uname -r) loads no modules"
fi
expect 1 cli trace -v --engine=stap mmap -- true
says 'Checking "/lib/modules/5.4.3-x/build/.config" failed'
echo "semantic error: of some kind" >"$SAYS"
expect 1 cli trace --engine=stap mmap -- true
equal "stderr" "semantic error: of some kind" "$(cat "$WORK/err")"
[ ! -e "$RAN" ] || fail "SystemTap was run after its error"

sleep 1000 &
plain=$!
at_exit "kill $plain"
expect 1 cli trace --engine=stap -p "$plain" mmap
says "does not run under konfiscator"
