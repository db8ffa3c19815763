#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Wrong usage ends with 2 and one line that names the thing and what is allowed.
. "$top_srcdir/tests/lib.sh"
workdir
. "$top_srcdir/tests/cli/cli.sh"

wrong() {
	kf_text=$1
	shift
	expect 2 "$@"
	says "$kf_text"
	equal "lines on stderr of $*" 1 "$(wc -l <"$WORK/err" | tr -d ' ')"
	[ ! -s "$WORK/out" ] || fail "$*: something is on stdout"
}

wrong "a command is missing" "$KF_CLI"
wrong "unknown command 'nope'" "$KF_CLI" nope
wrong "unknown command 'expalin' (did you mean explain?)" "$KF_CLI" expalin
wrong "unknown command 'nope'" "$KF_CLI" help nope
wrong "help: only one command can be given" "$KF_CLI" help stat top
wrong "option --wtach=1 is unknown (did you mean --watch?)" "$KF_CLI" stat --wtach=1
wrong "option --nope is unknown" "$KF_CLI" --nope
wrong "option --nope is unknown" "$KF_CLI" stat --nope
wrong "option --frob=1 is unknown" "$KF_CLI" stat --frob=1
wrong "option --f=1 is ambiguous: --f" "$KF_CLI" report --f=1 a
wrong "option --quiet=1 takes no argument" "$KF_CLI" --quiet=1 ls
wrong "option --byt=1 takes no argument" "$KF_CLI" stat --byt=1
wrong "unknown option -Z" "$KF_CLI" stat -Z
wrong "unknown option -Z" "$KF_CLI" ls --no-header -Zq
wrong "option --dir needs an argument" "$KF_CLI" ls --dir
wrong "the directory's name is empty" "$KF_CLI" --dir= ls
wrong "'xml' is not table, json, csv or prom" "$KF_CLI" --format=xml ls
wrong "'red' is not auto, always or never" "$KF_CLI" --color=red ls
wrong "ls: --format: 'prom' is not one of table, json, csv" "$KF_CLI" --format=prom ls
wrong "'1x' is not a list of process numbers" "$KF_CLI" stat -p 1x
wrong "'1,' is not a list of process numbers" "$KF_CLI" stat -p 1,
wrong "'-1' is not a list of process numbers" "$KF_CLI" stat -p -1
wrong "there is no user 'no-such-user'" "$KF_CLI" stat -u no-such-user
wrong "'0' is not a number of seconds" "$KF_CLI" stat -w 0
wrong "'nan' is not a number of seconds" "$KF_CLI" stat -w nan
wrong "'x' is not process, pid, thread, container or tag" "$KF_CLI" stat --by=x
wrong "'nope' is not one of process" cli stat --sort=nope
wrong "--by thread cannot be combined with --format=prom" \
	"$KF_CLI" --format=prom stat --by=thread
wrong "'x' is neither a process number nor a stats file" "$KF_CLI" stat x
wrong "'x' is neither a process number nor a stats file" "$KF_CLI" ls x
wrong "'x': the command takes no arguments" "$KF_CLI" prune x
wrong "a script's name is missing" "$KF_CLI" trace
wrong "'x' is not a process number" "$KF_CLI" trace -p x list
wrong "'perf' is not bpftrace or stap" "$KF_CLI" trace --engine=perf list
wrong "there is no script 'nope'" "$KF_CLI" trace nope
wrong "report: PID or FILE is missing" "$KF_CLI" report
wrong "report: give one file, or select one process" "$KF_CLI" report a b
wrong "'x' is not one of summary, timeline" "$KF_CLI" report --view=x a
wrong "of a profile it is one of top tree" "$KF_CLI" report --view=x a
wrong "a flame graph is -o FILE.html" "$KF_CLI" report --view=flame a
wrong "'x' is not one of log, trace" "$KF_CLI" report --export=x a
wrong "--view and --export exclude each other" "$KF_CLI" report --export=csv --view=top a
wrong "'-1' is not a number of seconds" "$KF_CLI" report --from=-1 a
wrong "'nan' is not a number of seconds" "$KF_CLI" report --to=nan a
wrong "--from is after --to" "$KF_CLI" report --from=2 --to=1 a
wrong "'new' is not one of malloc, calloc" "$KF_CLI" report --function=new a
wrong "'' is not a thread's id or name" "$KF_CLI" report --thread= a
wrong "'' is not a size such as 4096" "$KF_CLI" report --size= a
wrong "'-' is not a size such as 4096" "$KF_CLI" report --size=- a
wrong "'2-1' is not a size such as 4096" "$KF_CLI" report --size=2-1 a
wrong "'99999999999T' is not a size" "$KF_CLI" report --size=99999999999T a
wrong "'1x' is not a size such as 4096" "$KF_CLI" report --size=1x a
wrong "'-1' is not a number from 0" "$KF_CLI" report --rows=-1 a
wrong "'x' is not one of live, peak" "$KF_CLI" report --metric=x a
wrong "'x' is not one of function, line" "$KF_CLI" report --group=x a
wrong "'-1' is not a number of seconds" "$KF_CLI" report --at=-1 a
wrong "two profiles are needed: konfiscator diff BEFORE AFTER" "$KF_CLI" diff a
wrong "'x' is not a number of bytes" "$KF_CLI" diff --fail-over=x a b
wrong "'x' is not stack or function" "$KF_CLI" diff --by=x a b
wrong "give either a program or a process" "$KF_CLI" record
wrong "give either a program or a process" "$KF_CLI" record -p 1 true
wrong "'x' is not a list of process numbers" "$KF_CLI" record -p x
wrong "'0' is not a number of seconds" "$KF_CLI" record --interval=0 true
wrong "'0' is not 1, or from 1K to 1T" "$KF_CLI" record --sample=0 true
wrong "'2' is not 1, or from 1K to 1T" "$KF_CLI" record --sample=2 true
wrong "'2' is not 1, or from 1K to 1T" "$KF_CLI" attach --sample=2 1
wrong "only one program can be given" "$KF_CLI" doctor a b

expect 0 "$KF_CLI" --help
prints "Commands:"
expect 0 "$KF_CLI" --version
prints "konfiscator "
expect 0 "$KF_CLI" stat -h
prints "--watch=SEC"
