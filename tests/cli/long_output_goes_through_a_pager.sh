#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# On a terminal, names of functions are cut to its width and output goes through
# the pager that the user has chosen; the exit status is the command's, also when
# the pager ends first. Elsewhere names are whole and there is no pager.
. "$top_srcdir/tests/lib.sh"
needs g++ build-essential
workdir
. "$top_srcdir/tests/cli/cli.sh"
[ "$PYTHON3" != none ] || skip "python3 is not installed"
cd "$WORK"
unset PAGER KONFISCATOR_PAGER LESS
LC_ALL=C.UTF-8
NO_COLOR=1
export LC_ALL NO_COLOR
cat >program.cc <<'END'
#include <cstdlib>
#include <unistd.h>

template <typename A, typename B> struct box {
	A a;
	B b;
};

void *volatile block;

template <typename T> __attribute__((noinline)) void *
a_function_with_a_name_that_is_far_too_long_for_the_columns_of_a_terminal(T n)
{
	block = std::malloc(1000000 + sizeof(n));
	return block;
}

int main(int argc, char **)
{
	char c;

	for (int i = 0; i < 3 && argc < 2; i++)
		a_function_with_a_name_that_is_far_too_long_for_the_columns_of_a_terminal(
			box<box<int, long>, box<char, short> >());
	write(1, "done\n", 5);
	return read(0, &c, 1);
}
END
g++ -w -O1 -fno-omit-frame-pointer -o program program.cc || fail "no program"

# profile FILE ARGUMENT...: run the program, and make a profile
profile() {
	to=$1
	shift
	hold run_under_exec ./program "$@"
	expect 0 "$KF_CLI" record -p "$program" -o "$to" --duration 0.1
	release
}

profile before without
profile prof

# terminal COMMAND...: run it on a terminal of $wide columns; what it printed is in
# seen, its status in $status
wide=100
cat >terminal.py <<'END'
import fcntl, os, pty, struct, sys, termios

wide = int(sys.argv.pop(1))
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, wide, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        more = os.read(fd, 65536)
    except OSError:
        break
    if not more:
        break
    seen += more
with open("seen", "wb") as f:
    f.write(seen.replace(b"\r\n", b"\n"))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
terminal() {
	status=$(timeout 60 "$PYTHON3" terminal.py "$wide" "$@") ||
		fail "$* does not end on a terminal"
}

widest() {
	wc -L <"$1"
}

# Names.
whole='a_function_with_a_name_that_is_far_too_long_for_the_columns_of_a_terminal<box<box<int, long>, box<char, short> > >'
"$KF_CLI" report prof >piped 2>err || fail "no report: $(cat err)"
grep -qF "$whole" piped || fail "a name is cut where no terminal is: $(cat piped)"
terminal "$KF_CLI" -q --no-pager report prof
equal "status" 0 "$status"
[ "$(LC_ALL=C.UTF-8 widest seen)" -le 100 ] || fail "too wide: $(cat seen)"
grep -q '_func.*….*main' seen || fail "no name is cut: $(cat seen)"
terminal "$KF_CLI" -q --no-pager report --full-names prof
grep -qF "$whole" seen || fail "--full-names cuts a name: $(cat seen)"
terminal "$KF_CLI" -q --no-pager report --view=tree prof
grep -q 'a_function.*….*<…>(' seen || grep -q '<…>' seen ||
	fail "no template is folded: $(cat seen)"
terminal "$KF_CLI" -q --no-pager --format=csv report prof
grep -qF "$whole" seen || fail "a name is cut in CSV: $(cat seen)"
LC_ALL=C terminal "$KF_CLI" -q --no-pager report prof
grep -q '_func.*\.\.\..*main' seen || fail "no name is cut in the locale C"

# Where there is no room for them, spare columns are left out, and the innermost
# call of a stack is whole or cut, but not joined with another.
wide=80
terminal "$KF_CLI" -q --no-pager report --view=ages prof
[ "$(LC_ALL=C.UTF-8 widest seen)" -le 80 ] || fail "too wide: $(cat seen)"
grep -q ' LIVE .* STACK$' seen || fail "the first columns are gone: $(cat seen)"
grep -q 'a_func.* < …$' seen || fail "no innermost call: $(cat seen)"
! grep -q '……' seen || fail "parts of two calls are joined: $(cat seen)"
hold run_under_exec ./program without
terminal "$KF_CLI" --dir="$WORK/stats" --no-pager stat
release
[ "$(LC_ALL=C.UTF-8 widest seen)" -le 80 ] || fail "too wide: $(cat seen)"
grep -q '^PROCESS .* LIVE .* MALLOC/s' seen || fail "no table: $(cat seen)"
equal "how often it says so" 1 \
	"$(grep -c 'stat: the terminal has no room for [0-9] columns: | cat shows all$' seen)"
"$KF_CLI" report --view=ages prof 2>err | grep -q "FOREIGN%" ||
	fail "a column is left out where no terminal is"
wide=100

# Pagers.
cat >pager <<'END'
#!/bin/sh
echo "paged, LESS=$LESS"
sed 's/^/|/'
sleep 0.3
echo ended
END
cat >quitter <<'END'
#!/bin/sh
head -n 1
END
chmod +x pager quitter
PATH=$WORK:$PATH

paged() {
	grep -q "^paged" seen || fail "$*: no pager: $(cat seen)"
	grep -q "^ended" seen || fail "$*: the pager is not waited for"
}

not_paged() {
	! grep -q "^paged" seen || fail "$*: a pager: $(cat seen)"
	grep -q "main" seen || fail "$*: nothing is shown: $(cat seen)"
}

PAGER=pager terminal "$KF_CLI" report prof
paged PAGER
grep -q "^paged, LESS=FRX" seen || fail "LESS is not set: $(cat seen)"
grep -q "^|.*--metric=peak" seen || fail "a note goes past the pager"
LESS=S PAGER=pager terminal "$KF_CLI" report prof
grep -q "^paged, LESS=S" seen || fail "LESS is changed: $(cat seen)"
PAGER=false KONFISCATOR_PAGER=pager terminal "$KF_CLI" report prof
paged KONFISCATOR_PAGER
PAGER="pager | sed s/x/x/" terminal "$KF_CLI" report prof
paged "a command line"
PAGER=pager terminal "$KF_CLI" --no-pager report prof
not_paged --no-pager
PAGER=pager terminal "$KF_CLI" --no-pager diff prof prof
! grep -q "^paged" seen || fail "diff --no-pager: a pager"
PAGER=pager KONFISCATOR_PAGER='' terminal "$KF_CLI" report prof
not_paged "an empty KONFISCATOR_PAGER"
PAGER='cat' terminal "$KF_CLI" report prof
not_paged cat
PAGER=/no/such/pager terminal "$KF_CLI" report prof
not_paged "a pager that is missing"
grep -q "pager /no/such/pager cannot be run: No such file" seen ||
	fail "nothing says that a pager is missing: $(cat seen)"
PAGER=pager "$KF_CLI" report prof >seen 2>&1 || fail "no report"
not_paged "a pipe"
# shellcheck disable=SC2016 # the inner shell's
PAGER=pager terminal sh -c '"$0" report -o out.folded prof; cat out.folded' "$KF_CLI"
not_paged "-o"

# A pager that ends early changes nothing.
PAGER=quitter terminal "$KF_CLI" report --rows=0 prof
equal "status" 0 "$status"
! grep -qi "broken pipe" seen || fail "an early end is told: $(cat seen)"
"$top_builddir/tests/fixture/mkrecording" history \
	<"$top_srcdir/tests/cli/report.script"
PAGER=quitter terminal "$KF_CLI" report --export=log history
equal "status of an export" 0 "$status"
! grep -qi "broken pipe" seen || fail "an early end is told: $(cat seen)"

# The command's status is kept.
PAGER=quitter terminal "$KF_CLI" diff --fail-over=1M before prof
equal "status of a difference" 1 "$status"
PAGER=pager terminal "$KF_CLI" diff --fail-over=1M before prof
equal "status of a difference" 1 "$status"
grep -q "^|.*over the limit" seen || fail "an error goes past the pager"
PAGER=pager terminal "$KF_CLI" report missing
equal "status of a failure" 1 "$status"
PAGER=pager terminal "$KF_CLI" report --view=no prof
equal "status of wrong usage" 2 "$status"
