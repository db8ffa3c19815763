/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * process_names:
 *   - name: "{{.ExeBase}}:{{.Matches.Port}}" comm: [a, b]		any of
 *     these is the command's name exe: [/usr/bin/a, b]	any of these is the
 *     executable's path, or its last component cmdline: [regex, ...]	all of
 *     these match the command line
 *
 * Named groups in cmdline's expressions, such as (?P<Port>[0-9]+), are Matches
 * in the template. Expressions are PCRE2's, on bytes; they include Go's syntax,
 * which process-exporter uses.
 */
#include "config.h"

#include "exporter/groups/naming.h"
#include "exporter/config/yaml.h"
#include "exporter/log.h"
#include "exporter/trace/trace.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <libgen.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 256
#define MAX_WORDS 64
#define MAX_NAMES 32
#define MAX_REGEX 512

/*
 * Limits of a match: any user can choose a command line on which an expression
 * backtracks. Beyond a limit the match counts as no match.
 */
#define MATCH_STEPS 100000
#define MATCH_KIB 16384

/*
 * "$" matches only at the end, as in Go; "." also matches a newline, which
 * arguments may contain. Bytes need not be UTF-8. Two branches may use the same
 * name. Callouts count the steps, since PCRE2's own limit restarts at each byte
 * of the subject.
 */
#define COMPILE_OPTIONS                                          \
	(PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_NEVER_UTF | \
	 PCRE2_DUPNAMES | PCRE2_AUTO_CALLOUT)

struct expression {
	pcre2_code *code;
	char *text;
	bool logged; /* the limit was logged; atomic */
};

struct rule {
	char *name; /* template */
	char *comm[MAX_WORDS];
	char *exe[MAX_WORDS];
	struct expression cmdline[MAX_WORDS / 4];
	unsigned int nr_comm, nr_exe, nr_cmdline;
	uint32_t nr_names; /* of named groups, in all of cmdline */
};

struct kf_naming {
	unsigned int nr_traces;
	const char *trace[KF_MAX_TRACES];
	unsigned int nr;
	struct rule *rule[MAX_RULES];
};

/* A named group of a match: name and part of the command line. */
struct found {
	unsigned int nr;
	struct {
		const char *name;
		const char *text;
		int len;
	} match[MAX_NAMES];
};

static bool naming_take_word(struct kf_yaml *y, yaml_node_t *n, char **words,
			     unsigned int *nr)
{
	const char *text = kf_yaml_text(y, n);

	if (!text)
		return false;
	if (*nr == MAX_WORDS)
		return kf_yaml_fail(y, n, "more than %d names in a list",
				    MAX_WORDS);
	words[*nr] = strdup(text);
	return words[(*nr)++] ? true : kf_yaml_fail(y, n, "out of memory");
}

static bool naming_take_comm_word(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct rule *r = out;

	return naming_take_word(y, n, r->comm, &r->nr_comm);
}

static bool naming_take_exe_word(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct rule *r = out;

	return naming_take_word(y, n, r->exe, &r->nr_exe);
}

/* Get the number of named groups in @code, and PCRE2's table of them. */
static uint32_t naming_names_of(const pcre2_code *code, PCRE2_SPTR *table,
				uint32_t *row)
{
	uint32_t nr = 0;

	pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &nr);
	pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, table);
	pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, row);
	return nr;
}

static bool naming_take_expression(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n);
	struct rule *r = out;
	struct expression *e = &r->cmdline[r->nr_cmdline];
	char reason[128];
	PCRE2_SPTR table;
	PCRE2_SIZE at;
	uint32_t row;
	int wrong;

	if (!text)
		return false;
	if (r->nr_cmdline == KF_ARRAY_SIZE(r->cmdline))
		return kf_yaml_fail(y, n, "more than %zu expressions in a rule",
				    KF_ARRAY_SIZE(r->cmdline));
	if (!*text || strlen(text) > MAX_REGEX)
		return kf_yaml_fail(y, n,
				    "an expression must have 1 to %d bytes",
				    MAX_REGEX);
	e->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				COMPILE_OPTIONS, &wrong, &at, NULL);
	if (!e->code) {
		pcre2_get_error_message(wrong, (PCRE2_UCHAR *)reason,
					sizeof(reason));
		return kf_yaml_fail(y, n, "%s: at offset %zu: %s", text, at,
				    reason);
	}
	e->text = strdup(text);
	r->nr_cmdline++;
	r->nr_names += naming_names_of(e->code, &table, &row);
	if (r->nr_names > MAX_NAMES)
		return kf_yaml_fail(y, n, "more than %d named groups in a rule",
				    MAX_NAMES);
	return e->text ? true : kf_yaml_fail(y, n, "out of memory");
}

/* Check the name at @s, after "{{". Return NULL, or the allowed names. */
static const char *naming_wrong_field(const char *s)
{
	static const char *const known[] = {"Comm",	"ExeBase", "ExeFull",
					    "Username", "PID",	   "Cgroups",
					    "Matches"};
	size_t len, i;

	s += strspn(s, " ");
	if (*s++ != '.')
		return "not {{.NAME}}";
	len = strcspn(s, ". }");
	if (!strstr(s, "}}"))
		return "}} is missing";
	for (i = 0; i < KF_ARRAY_SIZE(known); i++) {
		if (strlen(known[i]) == len && strncmp(known[i], s, len) == 0)
			return NULL;
	}
	return "not Comm, ExeBase, ExeFull, Username, PID, Cgroups or Matches";
}

static bool naming_take_name(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n), *p, *wrong;
	struct rule *r = out;

	for (p = text; p && (p = strstr(p, "{{")); p += 2) {
		wrong = naming_wrong_field(p + 2);
		if (wrong)
			return kf_yaml_fail(y, n, "%s: %s", text, wrong);
	}
	r->name = text ? strdup(text) : NULL;
	return r->name != NULL;
}

static bool naming_take_comm(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, naming_take_comm_word, out);
}

static bool naming_take_exe(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, naming_take_exe_word, out);
}

static bool naming_take_cmdline(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, naming_take_expression, out);
}

static bool naming_take_rule(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	static const struct kf_yaml_key keys[] = {
		{"name", naming_take_name},
		{"comm", naming_take_comm},
		{"exe", naming_take_exe},
		{"cmdline", naming_take_cmdline}};
	struct kf_naming *naming = out;
	struct rule *r;

	if (naming->nr == MAX_RULES)
		return kf_yaml_fail(y, n, "more than %d rules", MAX_RULES);
	r = calloc(1, sizeof(*r));
	if (!r)
		return kf_yaml_fail(y, n, "out of memory");
	naming->rule[naming->nr++] = r;
	if (!kf_yaml_mapping(y, n, keys, KF_ARRAY_SIZE(keys), r))
		return false;
	if (!r->nr_comm && !r->nr_exe && !r->nr_cmdline)
		return kf_yaml_fail(y, n, "comm, exe or cmdline is required");
	if (!r->name)
		r->name = strdup("{{.ExeBase}}");
	return r->name ? true : kf_yaml_fail(y, n, "out of memory");
}

static bool naming_take_rules(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, naming_take_rule, out);
}

static bool naming_take_trace(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n);
	const char *name = text ? kf_trace_known(text) : NULL;
	struct kf_naming *naming = out;
	unsigned int i;

	if (!text)
		return false;
	if (!name || naming->nr_traces == KF_MAX_TRACES)
		return kf_yaml_fail(
			y, n,
			"unknown tracer %s (known: konfiscator, sizes, latency, mmap, frag, prometheus)",
			text);
	for (i = 0; i < naming->nr_traces; i++) {
		if (naming->trace[i] == name)
			return kf_yaml_fail(y, n, "duplicate tracer %s", text);
	}
	naming->trace[naming->nr_traces++] = name;
	return true;
}

static bool naming_take_traces(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, naming_take_trace, out);
}

unsigned int kf_naming_traces(const struct kf_naming *n, const char **name)
{
	memcpy(name, n->trace, n->nr_traces * sizeof(*name));
	return n->nr_traces;
}

bool kf_naming_has_rules(const struct kf_naming *n)
{
	return n && n->nr;
}

struct kf_naming *kf_naming_read(const char *path, char *error, size_t size)
{
	static const struct kf_yaml_key keys[] = {
		{"process_names", naming_take_rules},
		{"trace", naming_take_traces}};
	struct kf_naming *n = calloc(1, sizeof(*n));
	struct kf_yaml y;
	yaml_node_t *root = kf_yaml_load(&y, path);
	bool right = !y.error[0];

	if (n && root)
		right = kf_yaml_mapping(&y, root, keys, KF_ARRAY_SIZE(keys), n);
	snprintf(error, size, "%s", n ? y.error : "out of memory");
	kf_yaml_release(&y);
	if (right)
		return n;
	kf_naming_free(n);
	return NULL;
}

static const char *naming_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Return the ith fixed name of a rule; or NULL, and lower @i by their number.
 */
static const char *naming_fixed_of(const struct rule *r, unsigned int *i)
{
	char *const *word = &r->name;
	unsigned int nr = !strstr(r->name, "{{");

	if (strcmp(r->name, "{{.Comm}}") == 0) {
		word = r->comm;
		nr = r->nr_comm;
	} else if (strcmp(r->name, "{{.ExeBase}}") == 0) {
		word = r->exe;
		nr = r->nr_exe;
	}
	if (*i < nr)
		return word == r->exe ? naming_base_of(word[*i]) : word[*i];
	*i -= nr;
	return NULL;
}

const char *kf_naming_fixed(const struct kf_naming *n, unsigned int i)
{
	const char *name = NULL;
	unsigned int r;

	for (r = 0; n && !name && r < n->nr; r++)
		name = naming_fixed_of(n->rule[r], &i);
	return !name && i == 0 && kf_naming_has_rules(n) ? KF_OTHER : name;
}

static void free_words(char **words, unsigned int nr)
{
	while (nr)
		free(words[--nr]);
}

void kf_naming_free(struct kf_naming *n)
{
	unsigned int i, e;

	for (i = 0; n && i < n->nr; i++) {
		struct rule *r = n->rule[i];

		free_words(r->comm, r->nr_comm);
		free_words(r->exe, r->nr_exe);
		for (e = 0; e < r->nr_cmdline; e++) {
			pcre2_code_free(r->cmdline[e].code);
			free(r->cmdline[e].text);
		}
		free(r->name);
		free(r);
	}
	free(n);
}

static bool comm_matches(const struct rule *r, const char *comm)
{
	unsigned int i;

	for (i = 0; i < r->nr_comm; i++) {
		if (strcmp(r->comm[i], comm) == 0)
			return true;
	}
	return !r->nr_comm;
}

/*
 * An entry with a slash is compared with the path, otherwise with its last
 * component.
 */
static bool exe_matches(const struct rule *r, const char *exe)
{
	unsigned int i;

	for (i = 0; i < r->nr_exe; i++) {
		if (strcmp(r->exe[i], strchr(r->exe[i], '/')
					      ? exe
					      : naming_base_of(exe)) == 0)
			return true;
	}
	return !r->nr_exe;
}

static void naming_note_names(const struct expression *e, const PCRE2_SIZE *at,
			      const char *cmdline, struct found *f)
{
	PCRE2_SPTR name;
	uint32_t row, nr;

	/*
	 * a row of PCRE2's table: two bytes with the group's number, then its
	 * name
	 */
	for (nr = naming_names_of(e->code, &name, &row); nr;
	     nr--, name += row) {
		size_t g = (size_t)name[0] << 8 | name[1];

		if (at[2 * g] == PCRE2_UNSET)
			continue;
		f->match[f->nr].name = (const char *)name + 2;
		f->match[f->nr].text = cmdline + at[2 * g];
		f->match[f->nr++].len = (int)(at[2 * g + 1] - at[2 * g]);
	}
}

/* Log once for each expression: any process could cause more messages. */
static void naming_tell_limit(struct expression *e)
{
	if (!__atomic_exchange_n(&e->logged, true, __ATOMIC_RELAXED))
		kf_log(KF_LOG_WARN,
		       "matching an expression exceeded its limits: counted as no match",
		       "expression", e->text, NULL);
}

/* PCRE2 calls this before each item of an expression. */
static int naming_count_step(pcre2_callout_block *block, void *steps)
{
	return ++*(unsigned int *)steps > MATCH_STEPS ? PCRE2_ERROR_MATCHLIMIT
						      : 0;
}

static bool expression_matches(struct expression *e, const char *cmdline,
			       struct found *f)
{
	pcre2_match_data *data =
		pcre2_match_data_create_from_pattern(e->code, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	int rc = PCRE2_ERROR_NOMEMORY;
	unsigned int steps = 0;

	if (data && limits) {
		pcre2_set_heap_limit(limits, MATCH_KIB);
		pcre2_set_callout(limits, naming_count_step, &steps);
		rc = pcre2_match(e->code, (PCRE2_SPTR)cmdline, strlen(cmdline),
				 0, 0, data, limits);
	}
	if (rc > 0)
		naming_note_names(e, pcre2_get_ovector_pointer(data), cmdline,
				  f);
	else if (rc != PCRE2_ERROR_NOMATCH)
		naming_tell_limit(e);
	pcre2_match_data_free(data);
	pcre2_match_context_free(limits);
	return rc > 0;
}

static bool cmdline_matches(struct rule *r, const char *cmdline,
			    struct found *f)
{
	unsigned int i;

	for (i = 0; i < r->nr_cmdline; i++) {
		if (!expression_matches(&r->cmdline[i], cmdline, f))
			return false;
	}
	return true;
}

/* Return the value of .NAME, and its length in @len. */
static const char *naming_field(const char *name, size_t n,
				const struct kf_naming_process *p,
				const struct found *f, char number[16],
				int *len)
{
	const struct {
		const char *name;
		const char *value;
	} fields[] = {
		{"Comm", p->comm},	 {"ExeBase", naming_base_of(p->exe)},
		{"ExeFull", p->exe},	 {"Username", p->user},
		{"Cgroups", p->cgroups}, {"PID", number}};
	unsigned int i;

	snprintf(number, 16, "%d", p->pid);
	for (i = 0; i < KF_ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) != n ||
		    strncmp(fields[i].name, name, n) != 0)
			continue;
		*len = (int)strlen(fields[i].value);
		return fields[i].value;
	}
	for (i = 0; n > 8 && i < f->nr; i++) {
		if (strlen(f->match[i].name) == n - 8 &&
		    strncmp(name + 8, f->match[i].name, n - 8) == 0) {
			*len = f->match[i].len;
			return f->match[i].text;
		}
	}
	*len = 0;
	return "";
}

static void naming_expand(const char *s, const struct kf_naming_process *p,
			  const struct found *f, char *name, size_t size)
{
	size_t at = 0, n;
	const char *value;
	char number[16];
	int len;

	name[0] = '\0';
	while (*s && at + 1 < size) {
		if (strncmp(s, "{{", 2) != 0) {
			name[at++] = *s++;
			name[at] = '\0';
			continue;
		}
		s += 2;
		s += strspn(s, " .");
		n = strcspn(s, " }");
		value = naming_field(s, n, p, f, number, &len);
		snprintf(name + at, size - at, "%.*s", len, value);
		at += strlen(name + at);
		s = strstr(s, "}}") + 2;
	}
}

bool kf_naming_apply(const struct kf_naming *n,
		     const struct kf_naming_process *p, char *name, size_t size)
{
	unsigned int i;

	for (i = 0; i < n->nr; i++) {
		struct rule *r = n->rule[i];
		struct found f = {0};

		if (!comm_matches(r, p->comm) || !exe_matches(r, p->exe) ||
		    !cmdline_matches(r, p->cmdline, &f))
			continue;
		naming_expand(r->name, p, &f, name, size);
		return true;
	}
	return false;
}
