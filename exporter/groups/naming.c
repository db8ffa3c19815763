/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * process_names:
 *   - name: "{{.ExeBase}}:{{.Matches.Port}}"
 *     comm: [a, b]		any of these is the command's name
 *     exe: [/usr/bin/a, b]	... the executable's path, or its last part
 *     cmdline: [regex, ...]	all of these match the command line
 *
 * Groups of cmdline's expressions that have a name, (?P<Port>[0-9]+), are
 * Matches of the template. As POSIX knows no names, they are taken out and
 * numbered here.
 */
#include "config.h"

#include "exporter/groups/naming.h"
#include "exporter/buf.h"
#include "exporter/trace/trace.h"
#include "exporter/config/yaml.h"

#include <libgen.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 256
#define MAX_WORDS 64
#define MAX_GROUPS 10
#define MAX_REGEX 512
#define GROUP_NAME 32

struct expression {
	regex_t regex;
	char group[MAX_GROUPS][GROUP_NAME]; /* "" where it has no name */
};

struct rule {
	char *name; /* template */
	char *comm[MAX_WORDS];
	char *exe[MAX_WORDS];
	struct expression cmdline[MAX_WORDS / 4];
	unsigned int nr_comm, nr_exe, nr_cmdline;
};

struct kf_naming {
	unsigned int nr_traces;
	const char *trace[KF_MAX_TRACES];
	unsigned int nr;
	struct rule *rule[MAX_RULES];
};

/* What a match found: a name and a piece of the command line. */
struct found {
	unsigned int nr;
	struct {
		const char *name;
		const char *text;
		int len;
	} match[MAX_GROUPS * 2];
};

static bool take_word(struct kf_yaml *y, yaml_node_t *n, char **words,
		      unsigned int *nr)
{
	const char *text = kf_yaml_text(y, n);

	if (!text)
		return false;
	if (*nr == MAX_WORDS)
		return kf_yaml_fail(y, n, "more than %d", MAX_WORDS);
	words[*nr] = strdup(text);
	return words[(*nr)++] ? true : kf_yaml_fail(y, n, "out of memory");
}

static bool take_comm_word(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct rule *r = out;

	return take_word(y, n, r->comm, &r->nr_comm);
}

static bool take_exe_word(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	struct rule *r = out;

	return take_word(y, n, r->exe, &r->nr_exe);
}

/* One named group: its name goes to the expression, the rest stays. */
static const char *take_group_name(const char *s, char *name)
{
	size_t len;

	s += strlen("(?P<");
	len = strcspn(s, ">");
	if (s[len] != '>' || !len || len >= GROUP_NAME)
		return NULL;
	memcpy(name, s, len);
	name[len] = '\0';
	return s + len + 1;
}

/* An escape of Go's that POSIX does not know, else the escape itself. */
static const char *translate_escape(const char *s, bool in_set,
				    struct kf_buf *b)
{
	static const struct {
		char letter;
		const char *set;
	} sets[] = {{'d', "0-9"}, {'w', "[:alnum:]_"}, {'s', "[:space:]"}};
	unsigned int i;

	if (s[1] >= '1' && s[1] <= '9')
		return "there are no back references";
	for (i = 0; i < KF_ARRAY_SIZE(sets); i++) {
		if (sets[i].letter != s[1])
			continue;
		kf_buf_fmt(b, in_set ? "%s" : "[%s]", sets[i].set);
		return NULL;
	}
	kf_buf_add(b, s, 2);
	return NULL;
}

/* The begin of a group; @s goes behind it. */
static const char *translate_group(struct expression *e, unsigned int nr,
				   const char **s)
{
	const char *next = *s + 1;

	if (nr >= MAX_GROUPS)
		return "too many groups";
	if (strncmp(*s, "(?P<", 4) == 0)
		next = take_group_name(*s, e->group[nr]);
	else if (strncmp(*s, "(?:", 3) == 0)
		next = *s + 3;
	else if (**s && (*s)[1] == '?')
		return "(? is not known but for (?P<NAME> and (?:";
	if (!next)
		return "a group's name is not right";
	*s = next;
	return NULL;
}

/* Go's syntax to POSIX's, as far as names, (?:...), \d, \w and \s go. */
static const char *translate(struct expression *e, const char *s,
			     struct kf_buf *b)
{
	const char *wrong = NULL;
	bool in_set = false;
	unsigned int nr = 0;

	while (*s && !wrong) {
		if (*s == '\\' && s[1]) {
			wrong = translate_escape(s, in_set, b);
			s += 2;
			continue;
		}
		in_set = in_set ? *s != ']' : *s == '[';
		kf_buf_add(b, s, 1);
		if (*s == '(' && !in_set)
			wrong = translate_group(e, ++nr, &s);
		else
			s++;
	}
	return b->failed ? "out of memory" : wrong;
}

static bool take_expression(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n), *wrong;
	struct rule *r = out;
	struct expression *e = &r->cmdline[r->nr_cmdline];
	struct kf_buf posix = {0};
	char reason[128];
	int rc;

	if (!text)
		return false;
	if (r->nr_cmdline == KF_ARRAY_SIZE(r->cmdline))
		return kf_yaml_fail(y, n, "too many expressions");
	if (!*text || strlen(text) > MAX_REGEX)
		return kf_yaml_fail(y, n, "an expression is empty or too long");
	wrong = translate(e, text, &posix);
	rc = wrong ? 0 : regcomp(&e->regex, posix.data, REG_EXTENDED);
	kf_buf_free(&posix);
	if (rc) {
		regerror(rc, &e->regex, reason, sizeof(reason));
		wrong = reason;
	}
	if (wrong)
		return kf_yaml_fail(y, n, "%s: %s", text, wrong);
	r->nr_cmdline++;
	return true;
}

/* What a template may name; NULL where @s, behind "{{", is right. */
static const char *wrong_field(const char *s)
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
	return "a name in it is not known";
}

static bool take_name(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n), *p, *wrong;
	struct rule *r = out;

	for (p = text; p && (p = strstr(p, "{{")); p += 2) {
		wrong = wrong_field(p + 2);
		if (wrong)
			return kf_yaml_fail(y, n, "%s: %s", text, wrong);
	}
	r->name = text ? strdup(text) : NULL;
	return r->name != NULL;
}

static bool take_comm(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, take_comm_word, out);
}

static bool take_exe(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, take_exe_word, out);
}

static bool take_cmdline(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, take_expression, out);
}

static bool take_rule(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	static const struct kf_yaml_key keys[] = {{"name", take_name},
						  {"comm", take_comm},
						  {"exe", take_exe},
						  {"cmdline", take_cmdline}};
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
		return kf_yaml_fail(y, n, "comm, exe or cmdline is wanted");
	if (!r->name)
		r->name = strdup("{{.ExeBase}}");
	return r->name ? true : kf_yaml_fail(y, n, "out of memory");
}

static bool take_rules(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, take_rule, out);
}

static bool take_trace(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	const char *text = kf_yaml_text(y, n);
	const char *name = text ? kf_trace_known(text) : NULL;
	struct kf_naming *naming = out;
	unsigned int i;

	if (!text)
		return false;
	if (!name || naming->nr_traces == KF_MAX_TRACES)
		return kf_yaml_fail(y, n, "%s is not a script with metrics",
				    text);
	for (i = 0; i < naming->nr_traces; i++) {
		if (naming->trace[i] == name)
			return kf_yaml_fail(y, n, "%s is there twice", text);
	}
	naming->trace[naming->nr_traces++] = name;
	return true;
}

static bool take_traces(struct kf_yaml *y, yaml_node_t *n, void *out)
{
	return kf_yaml_list(y, n, take_trace, out);
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
	static const struct kf_yaml_key keys[] = {{"process_names", take_rules},
						  {"trace", take_traces}};
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
		for (e = 0; e < r->nr_cmdline; e++)
			regfree(&r->cmdline[e].regex);
		free(r->name);
		free(r);
	}
	free(n);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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

/* A path is the whole path, a word without a slash its last part. */
static bool exe_matches(const struct rule *r, const char *exe)
{
	unsigned int i;

	for (i = 0; i < r->nr_exe; i++) {
		if (strcmp(r->exe[i],
			   strchr(r->exe[i], '/') ? exe : base_of(exe)) == 0)
			return true;
	}
	return !r->nr_exe;
}

static void note(const struct expression *e, const regmatch_t *m,
		 const char *cmdline, struct found *f)
{
	unsigned int g;

	for (g = 1; g < MAX_GROUPS; g++) {
		if (!e->group[g][0] || m[g].rm_so < 0 ||
		    f->nr == KF_ARRAY_SIZE(f->match))
			continue;
		f->match[f->nr].name = e->group[g];
		f->match[f->nr].text = cmdline + m[g].rm_so;
		f->match[f->nr++].len = (int)(m[g].rm_eo - m[g].rm_so);
	}
}

static bool cmdline_matches(const struct rule *r, const char *cmdline,
			    struct found *f)
{
	regmatch_t m[MAX_GROUPS];
	unsigned int i;

	for (i = 0; i < r->nr_cmdline; i++) {
		if (regexec(&r->cmdline[i].regex, cmdline, MAX_GROUPS, m, 0))
			return false;
		note(&r->cmdline[i], m, cmdline, f);
	}
	return true;
}

/* What stands for .NAME; its length in @len. */
static const char *field(const char *name, size_t n,
			 const struct kf_naming_process *p,
			 const struct found *f, char number[16], int *len)
{
	const struct {
		const char *name;
		const char *value;
	} fields[] = {{"Comm", p->comm},       {"ExeBase", base_of(p->exe)},
		      {"ExeFull", p->exe},     {"Username", p->user},
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

static void expand(const char *s, const struct kf_naming_process *p,
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
		value = field(s, n, p, f, number, &len);
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
		const struct rule *r = n->rule[i];
		struct found f = {0};

		if (!comm_matches(r, p->comm) || !exe_matches(r, p->exe) ||
		    !cmdline_matches(r, p->cmdline, &f))
			continue;
		expand(r->name, p, &f, name, size);
		return true;
	}
	return false;
}
