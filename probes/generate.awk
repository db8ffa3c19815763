# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Reads the declaration of the probes, writes what is made from it:
#
#	awk -v mode=MODE -f generate.awk konfiscator.d
#
#	header		for each probe a semaphore, an inline function that fires
#			it, and one that says whether it is traced
#	source		the semaphores, and the only location of each probe
#	percall		the bare ("per call") probes
#	header-stub	header, with functions that do nothing
#	percall-stub	percall, with functions that do nothing
#	tapset		SystemTap's aliases; -v library=PATH of the library
#	manual		the manual page; -v version=VERSION, -v tapset=DIRECTORY
#	page		doc/probes.md's part about each probe
#	names		a line for each probe: provider, name, guarded or bare,
#			number of arguments, their names
#
# With -v box=FILE (src/stats/box.def) the functions of header and header-stub
# also write the events of that table.
#
# POSIX awk is enough. A declaration that dtrace(1) would not understand, or that
# breaks a rule of the ABI, ends in one line on stderr and status 1. The output
# goes to stdout.

function fail(what)
{
	printf "%s:%d: %s\n", FILENAME, FNR, what | "cat >&2"
	close("cat >&2")
	failed = 1
	exit 1
}

function add_probe(line,    head, args, n, part, i, word)
{
	if (line !~ /^probe [a-z_0-9]+\(.*\);$/)
		fail("not a probe: " line)
	nr++
	head = substr(line, 7, index(line, "(") - 7)
	args = substr(line, index(line, "(") + 1)
	sub(/\);$/, "", args)
	if (provider == "")
		fail("probe " head " has no provider")
	if ((provider, head) in seen)
		fail("probe " head " is declared twice")
	if (head ~ /__/)
		fail("probe " head ": two underscores become a dash in tracers")
	if (comment == "")
		fail("probe " head " has no comment that says when it fires")
	seen[provider, head] = nr
	of[nr] = provider
	name[nr] = head
	id[nr] = (provider == main ? "" : provider "_") head
	text[nr] = comment
	held[nr] = "none"
	if (match(comment, /\. Lock: /)) {
		text[nr] = substr(comment, 1, RSTART - 1)
		held[nr] = substr(comment, RSTART + RLENGTH)
	}
	bare[nr] = comment ~ /^per call/
	comment = ""
	n = split(args, part, /, */)
	if (n > 6)
		fail("probe " head " has more than six arguments")
	nr_args[nr] = n
	for (i = 1; i <= n; i++) {
		if (split(part[i], word, / /) != 2 || word[1] != "uint64_t")
			fail("probe " head ": '" part[i] "' is not a uint64_t")
		if (word[2] == "name")
			fail("probe " head ": 'name' is the tapset's own")
		arg[nr, i] = word[2]
	}
}

# "uint64_t a, uint64_t b", or "void"
function parameters(p,    i, s)
{
	for (i = 1; i <= nr_args[p]; i++)
		s = s (i > 1 ? ", " : "") "uint64_t " arg[p, i]
	return s == "" ? "void" : s
}

# "a, b"
function arguments(p,    i, s)
{
	s = ""
	for (i = 1; i <= nr_args[p]; i++)
		s = s (s == "" ? "" : ", ") arg[p, i]
	return s
}

# " a b"
function words(p,    i, s)
{
	for (i = 1; i <= nr_args[p]; i++)
		s = s " " arg[p, i]
	return s
}

# With @in_name the arguments are numbered variables of that name
function stap_probe(p, in_name,    i, s)
{
	s = of[p] ", " name[p]
	for (i = 1; i <= nr_args[p]; i++)
		s = s ", " (in_name == "" ? arg[p, i] : in_name i)
	return sprintf("STAP_PROBE%s(%s)", nr_args[p] ? nr_args[p] : "", s)
}

function c_head(guard, about)
{
	print "/* SPDX-License-Identifier: LGPL-2.1-or-later */"
	print "/* Made by probes/generate.awk from konfiscator.d: " about " */"
	if (guard == "")
		return
	print "#ifndef " guard
	print "#define " guard
	print ""
}

# Read the table of the black box: the events of probes and their arguments
function read_box(    line, part, n)
{
	while ((getline line < box) > 0) {
		if (line !~ /^KF_BOX\(/)
			continue
		n = split(substr(line, 8), part, /, */)
		if (n < 8)
			fail(box ": not an event: " line)
		if (part[3] != "NONE")
			event[part[3]] = "KF_BOX_" part[1] ", " part[4] ", " part[5]
	}
	close(box)
}

# Fail for an event whose guarded probe is not declared
function check_box(    id_, p)
{
	for (id_ in event) {
		for (p = 1; p <= nr && id[p] != id_; p++)
			;
		if (p > nr || bare[p])
			fail(box ": there is no guarded probe " id_)
	}
}

function write_event(p)
{
	if (id[p] in event)
		print "\tkf_box_put(" event[id[p]] ");"
}

function write_header(    p, semaphore)
{
	c_head("KF_KONFISCATOR_PROBES_H", "the probes.")
	print "#include \"base/compiler.h\""
	if (box != "")
		print "#include \"stats/box.h\""
	for (p = 1; p <= nr; p++) {
		if (bare[p])
			continue
		semaphore = of[p] "_" name[p] "_semaphore"
		print ""
		print "/* " text[p] " */"
		print "extern volatile unsigned short " semaphore
		print "\t__attribute__((visibility(\"hidden\"), section(\".probes\")));"
		print "__kf_hidden int kf_probe_fire_" id[p] "(" parameters(p) ");"
		print "static inline bool kf_traces_" id[p] "(void)"
		print "{"
		print "\treturn unlikely(" semaphore ");"
		print "}"
		print "static inline void kf_probe_" id[p] "(" parameters(p) ")"
		print "{"
		write_event(p)
		print "\tif (kf_traces_" id[p] "())"
		print "\t\tkf_probe_fire_" id[p] "(" arguments(p) ");"
		print "}"
	}
	print "\n#endif"
}

function write_source(    p, i, register)
{
	c_head("", "the location of each probe.")
	print "#define _SDT_HAS_SEMAPHORES 1"
	print "#define STAP_SDT_ARG_CONSTRAINT nr"
	print "#include <sys/sdt.h>"
	print ""
	print "#include \"probes/konfiscator-probes.h\""
	print ""
	print "/*"
	print " * The probe is the first instruction, with its arguments in the registers"
	print " * of the calling convention, because some tracers read these registers"
	print " * and not the notes; without optimization only a register variable is"
	print " * certain to be in its register. Using the frame address makes the"
	print " * compiler keep the frame, without which a tracer would lose the caller;"
	print " * -fno-omit-frame-pointer alone does not keep it in a leaf function. The"
	print " * functions return different numbers so that neither compiler nor linker"
	print " * merges two of them."
	print " */"
	print "#ifdef __clang__"
	print "#define KF_FIRE __kf_hidden __noinline __cold"
	print "#else"
	print "#define KF_FIRE __kf_hidden __noinline __cold __attribute__((noclone, noipa))"
	print "#endif"
	print ""
	print "#ifdef __aarch64__"
	for (i = 1; i <= 6; i++)
		print "#define KF_REG" i " \"x" i - 1 "\""
	print "#else"
	split("rdi rsi rdx rcx r8 r9", register, " ")
	for (i = 1; i <= 6; i++)
		print "#define KF_REG" i " \"" register[i] "\""
	print "#endif"
	print ""
	print "#define KF_KEEP_FRAME() \\"
	print "\t__asm__ volatile(\"\" : : \"r\"(__builtin_frame_address(0)))"
	for (p = 1; p <= nr; p++) {
		if (bare[p])
			continue
		print ""
		print "volatile unsigned short " of[p] "_" name[p] "_semaphore"
		print "\t__attribute__((used, visibility(\"hidden\"), section(\".probes\")));"
		print "KF_FIRE int kf_probe_fire_" id[p] "(" parameters(p) ")"
		print "{"
		print "\tKF_KEEP_FRAME();"
		for (i = 1; i <= nr_args[p]; i++)
			print "\tregister uint64_t in_" i " __asm__(KF_REG" i ") = " arg[p, i] ";"
		print "\t" stap_probe(p, "in_") ";"
		print "\treturn " p ";"
		print "}"
	}
}

function write_percall(    p)
{
	c_head("KF_KONFISCATOR_PERCALL_H", "the probes of every call.")
	print "/*"
	print " * Each is a nop without a test, and a note that says where the arguments"
	print " * are. A file that uses sys/sdt.h with semaphores cannot include this."
	print " */"
	print "#ifdef _SDT_HAS_SEMAPHORES"
	print "#error \"these probes have no semaphores\""
	print "#endif"
	print "/*"
	print " * An argument may stay in memory: free needs no register for a field of the"
	print " * slab. Clang would store a register to memory for such an argument."
	print " */"
	print "#if !defined(__x86_64__) || defined(__clang__)"
	print "#define STAP_SDT_ARG_CONSTRAINT nr"
	print "#endif"
	print "#include <sys/sdt.h>"
	print ""
	print "#include \"base/compiler.h\""
	for (p = 1; p <= nr; p++) {
		if (!bare[p])
			continue
		print ""
		print "/* " text[p] " */"
		print "static __always_inline_kf void"
		print "kf_probe_" id[p] "(" parameters(p) ")"
		print "{"
		print "\t" stap_probe(p) ";"
		print "}"
	}
	print "\n#endif"
}

function write_stub(guard, want_bare,    p)
{
	c_head(guard, "functions that do nothing.")
	print "#include \"base/compiler.h\""
	if (box != "" && !want_bare)
		print "#include \"stats/box.h\""
	for (p = 1; p <= nr; p++) {
		if (bare[p] != want_bare)
			continue
		print ""
		if (!want_bare) {
			print "static inline bool kf_traces_" id[p] "(void)"
			print "{"
			print "\treturn false;"
			print "}"
		}
		print "static inline void kf_probe_" id[p] "(" parameters(p) ")"
		print "{"
		write_event(p)
		print "}"
	}
	print "\n#endif"
}

function write_tapset(    p, i)
{
	print "# SPDX-License-Identifier: LGPL-2.1-or-later"
	print "# Made by probes/generate.awk from konfiscator.d: aliases of the probes"
	print "# with names for their arguments. If a script's first argument is an absolute"
	print "# path, it is the library to trace instead of the installed one. (Only"
	print "# absolute paths sort from \"/\" to \"0\".)"
	print ""
	print "@define konfiscator_library %("
	print "\t%( $# > 0 %? %( @1 >= \"/\" && @1 < \"0\" %? @1"
	print "\t\t%: \"" library "\" %)"
	print "\t%: \"" library "\" %)"
	print "%)"
	for (p = 1; p <= nr; p++) {
		print ""
		print "# " text[p]
		print "probe " of[p] "." name[p] " ="
		print "\tprocess(@konfiscator_library).provider(\"" of[p] "\").mark(\"" name[p] "\")"
		print "{"
		print "\tname = \"" name[p] "\""
		for (i = 1; i <= nr_args[p]; i++)
			print "\t" arg[p, i] " = $arg" i
		print "}"
	}
}

# The name of a probe in the manual and the page
function full_name(p)
{
	return (of[p] == main ? "" : of[p] ":") name[p]
}

function write_manual(    p, i)
{
	print ".\\\" SPDX-License-Identifier: LGPL-2.1-or-later"
	print ".\\\" Made by probes/generate.awk from konfiscator.d."
	print ".TH KONFISCATOR_PROBES 7 2026-11-20 \"konfiscator " version "\""
	print ".SH NAME"
	print "konfiscator_probes \\- the USDT probes of konfiscator's malloc"
	print ".SH DESCRIPTION"
	print "The library has user-level statically defined tracing (USDT) probes, to"
	print "which bpftrace, SystemTap, perf and every other reader of ELF notes of"
	print "type stapsdt can attach."
	print "The provider is"
	print ".BR " main ","
	print "except for probes listed with another provider and a colon."
	print "Every argument is an unsigned 64-bit integer;"
	print "its name says whether it is an address, a size in bytes or a count."
	print ".PP"
	print "A probe is never renamed, arguments are only appended, and a probe"
	print "whose meaning changes gets a new name that ends in"
	print ".IR _v2 ."
	print "A probe that the GNU C library has too has the same name and order of"
	print "arguments: to port a script, change the provider."
	print ".PP"
	print "All probes except the"
	print ".I per call"
	print "ones are guarded by a semaphore, and cost one predictable branch while"
	print "they are not traced."
	print "Attach by the absolute path of the library, which selects every process"
	print "that uses it, and filter by process:"
	print ".PP"
	print ".EX"
	print "bpftrace \\-e \\(aqusdt:" library ":" main ":defrag_coalesce"
	print "    /pid == 4711/ { @merged = sum(arg3) }\\(aq"
	print ".EE"
	print ".PP"
	print "For SystemTap there is a tapset: an alias for each probe, with names for"
	print "its arguments."
	print "It uses the installed library, or the library whose absolute path is the"
	print "first argument of the script."
	print "If the tapset is not below"
	print ".IR /usr ,"
	print "pass its directory with \\-I:"
	print ".PP"
	print ".EX"
	print "stap \\-I " tapset " \\-e \\(aqglobal total"
	print "    probe " main ".defrag_coalesce { total <<< merged }"
	print "    probe end { println(@sum(total)) }\\(aq"
	print ".EE"
	print ".SH PROBES"
	for (p = 1; p <= nr; p++) {
		print ".TP"
		printf ".BI %s( ", full_name(p)
		for (i = 1; i <= nr_args[p]; i++)
			printf "%s%s", arg[p, i], i < nr_args[p] ? " \", \" " : " "
		print ")"
		print text[p] "."
		if (held[p] != "none")
			print "Lock held: " held[p] "."
	}
	print ".SH SEE ALSO"
	print ".BR konfiscator (1),"
	print ".BR bpftrace (8),"
	print ".BR stap (1)"
}

# An example of use: a sum of bytes, otherwise a count by the first argument
function example(p,    i, what)
{
	what = nr_args[p] ? "@[arg0] = count();" : "@ = count();"
	for (i = 1; i <= nr_args[p]; i++) {
		if (arg[p, i] == "waited")
			what = "@ns = hist(arg" i - 1 ");"
		else if (arg[p, i] ~ /^(bytes|merged|blocks|visited)$/)
			what = "@" arg[p, i] " = sum(arg" i - 1 ");"
	}
	return "usdt:$1:" of[p] ":" name[p] " { " what " }"
}

function write_page(    p, i, s)
{
	for (p = 1; p <= nr; p++) {
		s = ""
		for (i = 1; i <= nr_args[p]; i++)
			s = s (i > 1 ? ", " : "") arg[p, i]
		print ""
		print "### " full_name(p) "(" s ")"
		print ""
		print "When: " text[p] ". Lock held: " held[p] "."
		print ""
		print "    " example(p)
	}
}

function write_names(    p)
{
	for (p = 1; p <= nr; p++)
		print of[p], name[p], bare[p] ? "bare" : "guarded",
		      nr_args[p] words(p)
}

{
	line = $0
	gsub(/[ \t]+/, " ", line)
	sub(/^ /, "", line)
	sub(/ $/, "", line)
}

in_comment || line ~ /^\/\*/ {
	if (!in_comment)
		comment = ""
	in_comment = line !~ /\*\/$/
	sub(/^\/\*/, "", line)
	sub(/\*\/$/, "", line)
	sub(/^\* /, "", line)
	sub(/^ /, "", line)
	sub(/ $/, "", line)
	comment = comment (comment == "" || line == "" ? "" : " ") line
	next
}

line == "" { next }

line == "};" {
	provider = ""
	next
}

line ~ /^provider [a-z_]+ \{$/ && provider == "" {
	split(line, word, / /)
	provider = word[2]
	if (main == "")
		main = provider
	comment = ""
	next
}

line ~ /\/\*/ { fail("a comment on a probe's line hides it from dtrace(1)") }

{
	pending = pending (pending == "" ? "" : " ") line
	if (pending ~ /;$/) {
		add_probe(pending)
		pending = ""
	}
}

END {
	if (failed)
		exit 1
	if (pending != "" || in_comment || !nr)
		fail("unexpected end of file")
	if (box != "") {
		read_box()
		check_box()
	}
	if (failed)
		exit 1
	if (mode == "header")
		write_header()
	else if (mode == "source")
		write_source()
	else if (mode == "percall")
		write_percall()
	else if (mode == "header-stub")
		write_stub("KF_KONFISCATOR_PROBES_H", 0)
	else if (mode == "percall-stub")
		write_stub("KF_KONFISCATOR_PERCALL_H", 1)
	else if (mode == "tapset")
		write_tapset()
	else if (mode == "manual")
		write_manual()
	else if (mode == "page")
		write_page()
	else if (mode == "names")
		write_names()
	else
		fail("no mode '" mode "'")
}
