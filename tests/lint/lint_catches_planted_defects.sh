#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A check that cannot fail checks nothing: each lint test is run on a copy of
# the tree into which a defect of its kind was planted, and has to find it.
. "$top_srcdir/tests/lint/tree.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
origin=$top_srcdir

# plant TEST FILE TEXT [MODE [LAYERS]]: append the text to the file of a fresh
# copy, run TEST
# there, and complain unless it fails and names the file.
plant()
{
	looked_at=$((looked_at + 1))
	rm -rf "$work/tree"
	mkdir "$work/tree"
	tree_files | tar -C "$origin" -cf - -T - | tar -C "$work/tree" -xf -
	mkdir -p "$(dirname "$work/tree/$2")"
	printf '%b' "$3" >>"$work/tree/$2"
	if [ -n "${4:-}" ]; then
		chmod +x "$work/tree/$2"
	fi
	for layer in ${5:-}; do
		printf 'void *f(void)\n{\n\treturn malloc(1);\n}\n' \
			>"$work/tree/src/$layer/layer.c"
	done
	(
		export top_srcdir="$work/tree"
		if [ "$1" = release_holds_every_file ]; then
			git init -q "$work/tree"
			git -C "$work/tree" add -A
		fi
		"$work/tree/tests/lint/$1.sh"
	) >"$work/out" 2>&1
	got=$?
	if [ "$got" -eq 77 ]; then
		echo "not tried: $(cat "$work/out")"
	elif [ "$got" -ne 1 ]; then
		cat "$work/out"
		complain "$1 ended with $got in spite of: $3"
	elif ! grep -q "$(basename "$2")" "$work/out"; then
		cat "$work/out"
		complain "$1 failed, but does not name $2"
	fi
}

head='/* SPDX-License-Identifier: LGPL-2.1-or-later */\n'

plant layers_are_kept src/base/planted.c "$head"'#include "stats/stats.h"\n'
plant layers_are_kept src/attic/planted.c "$head"'#include "stats/stats.h"\n'
plant layers_are_kept src/reader/planted.h "$head"'#include "pages/planted.h"\n'
plant headers_compile_alone src/base/planted.h 'size_t kf_planted;\n'
plant declared_functions_are_documented src/base/planted.h \
	'int kf_planted(int a);\n'
plant declared_functions_are_documented src/base/planted.h \
	'/**\n * kf_planted() - x\n * @b: y\n *\n * Context: z.\n * Return: 0.\n */
int kf_planted(int a,\n\t       int b);\n'
plant declared_functions_are_documented src/base/planted.h \
	'/**\n * kf_planted() - x\n *\n * Context: z.\n */\nint kf_planted(void);\n'
plant declared_functions_are_documented src/base/planted.h \
	'/**\n * kf_planted() - x\n */\nvoid kf_planted(void);\n'
plant declared_functions_are_documented src/cli/planted.h \
	'/**\n * kf_planted() - x\n *\n * Context: one thread; the command has
 *\t    no other.\n */\nvoid kf_planted(void);\n'
plant code_is_formatted src/base/planted.c "$head"'int  planted;\n'
# Single quotes: the defect is that the variable stays unquoted in the file.
# shellcheck disable=SC2016
plant scripts_pass_shellcheck planted.sh '#!/bin/sh\nrm $1\n'
# shellcheck disable=SC2016
plant scripts_pass_shellcheck planted '#!/bin/sh\nrm $1\n' executable
plant files_and_functions_are_short src/base/planted.c \
	"$(yes 'int a;' | head -n 600 | tr '\n' '@' | sed 's/@/\\n/g')"
plant files_and_functions_are_short src/base/planted.c \
	"int f(void)\n{\n$(yes '\ta();' | head -n 60 | tr '\n' '@' |
		sed 's/@/\\n/g')}\n"
plant files_and_functions_are_short src/base/planted.c \
	'int f(void)\n{\n\t\t\t\tif (0)\n}\n'
plant banned_functions_are_not_called src/sys/planted.c \
	'/* malloc( */\nint f(void)\n{\n\treturn snprintf(0, 0, "");\n}\n'
plant banned_functions_are_not_called src/core/planted.c \
	'int f(void)\n{\n\tx->malloc(1);\n\treturn *(int *)malloc (1);\n}\n'
# One more in each layer: the same run has to name them all.
layers="base stats record sample tags pages heap engines mode"
plant banned_functions_are_not_called src/heap/planted.c \
	'void *f(void)\n{\n\treturn dlsym(0, "malloc");\n}\n' '' "$layers"
for dir in $layers; do
	grep -q "src/$dir/layer.c:.*malloc() is banned" "$work/out" ||
		complain "banned_functions_are_not_called passed src/$dir by"
done
plant banned_functions_are_not_called tests/lint/banned.txt \
	'in src/attic\n  gone: free\n'
plant foreign_text_is_made_printable src/cli/planted.c \
	'void f(void)\n{\n\tprintf("%%s, %%s\\n", "a",\n\t       f->snap.id.comm);\n}\n'
plant foreign_text_is_made_printable exporter/planted.c \
	'void f(void)\n{\n\tputs(kf_escape(b, sizeof(b), m.given));\n\tputs(m.given);\n}\n'
plant foreign_text_is_made_printable tests/lint/ours.txt 'src/cli/table.c gone\n'
plant every_file_names_its_licence src/base/planted.c 'int a;\n'
plant every_file_names_its_licence src/base/planted.c \
	'/* SPDX-License-Identifier: GPL-3.0-only */\n'
plant release_holds_every_file src/base/planted.c "$head"
plant static_names_stand_once src/base/planted.c \
	'static struct kf_slab *\nslab_carve(int a,\n\t   int b)\n{\n}\n'
plant static_names_stand_once exporter/http/planted.c \
	'static int tag_set_grow(void)\n{\n}\n'
plant static_names_stand_once src/cli/tags/planted.c \
	'static void\nreload(void)\n{\n}\n'
plant static_names_stand_once src/reader/planted.c \
	'static int take(int a)\n{\n}\n'
plant static_names_stand_once exporter/planted.c \
	'static void\nreload(void)\n{\n}\n'
plant words_are_clean src/base/planted.c "/* TO""DO: all */\n"
plant words_are_clean src/base/planted.c 'int a; \n'
plant english_is_plain src/cli/planted.c \
	"$head"'const char *f = "Look on "\n\t"for 2 s";\n'
plant english_is_plain src/core/planted.def \
	'KF_CONF(planted, SIZE, 0, "N", "usually 2, 0: none")\n'
plant english_is_plain doc/planted.md 'What the file holds\nis\ntold.\n'
plant english_is_plain doc/konfiscator.1.in '.Nm\nbrings it\nin.\n'

# shellcheck disable=SC2016
plant layout_pages_say_the_structs doc/stats-file.md \
	'### struct kf_slot\n| 4 | 4 | `state` | in the wrong place |\n'
# shellcheck disable=SC2016
plant layout_pages_say_the_structs doc/recording.md \
	'### struct kf_record_moment\n| 4 | 4 | `ticks` | in the wrong place |\n'
plant layout_pages_say_the_structs doc/recording.md '| 10 | other | 2 | x |\n'

verdict "planted defects"
