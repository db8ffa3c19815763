/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tracing scripts: their directory, and the question that each answers: the
 * text after "Question:" in its head, up to an empty line.
 */
#include "config.h"

#include "cli/library.h"
#include "cli/commands/trace.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEAD_LINES 60
#define QUESTION "Question:"

static const struct {
	const char *dir;
	const char *suffix;
	enum kf_engine_bits engine;
	bool glibc;
} script_kinds[] = {
	{"bpftrace", ".bt", KF_ENGINE_BPFTRACE, false},
	{"stap", ".stp", KF_ENGINE_STAP, false},
	{"glibc", ".bt", KF_ENGINE_BPFTRACE, true},
	{"glibc", ".stp", KF_ENGINE_STAP, true},
};

/* The text of a line of a comment, without its marks. */
static char *comment_text(char *line)
{
	line += strspn(line, " \t*/#");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static char *scripts_join(char *a, const char *b)
{
	char *both = kf_format("%s%s%s", a, a[0] && b[0] ? " " : "", b);

	free(a);
	return both;
}

static char *question_of(const char *path)
{
	char *question = kf_format("%s", ""), *line = NULL;
	FILE *f = fopen(path, "re");
	bool inside = false;
	size_t size = 0;

	for (int i = 0; f && i < MAX_HEAD_LINES; i++) {
		char *text;

		if (getline(&line, &size, f) < 0)
			break;
		text = comment_text(line);
		if (inside && !text[0])
			break;
		if (!strncmp(text, QUESTION, strlen(QUESTION))) {
			inside = true;
			text += strlen(QUESTION);
			text += strspn(text, " ");
		}
		if (inside)
			question = scripts_join(question, text);
	}
	free(line);
	if (f)
		fclose(f);
	return question;
}

static struct kf_script *script_add(struct kf_scripts *s, const char *name,
				    size_t len)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (!strncmp(s->script[i].name, name, len) &&
		    !s->script[i].name[len])
			return &s->script[i];
	}
	s->script = realloc(s->script, (s->nr + 1) * sizeof(*s->script));
	if (!s->script) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	s->script[s->nr] = (struct kf_script){
		.name = kf_format("%.*s", (int)len, name),
		.question = kf_format("%s", ""),
	};
	return &s->script[s->nr++];
}

static void take_file(struct kf_scripts *s, const char *dir, const char *name,
		      size_t kind)
{
	const char *suffix = script_kinds[kind].suffix;
	size_t len = strlen(name), end = strlen(suffix);
	struct kf_script *script;
	char *path;

	if (len <= end || strcmp(name + len - end, suffix))
		return;
	script = script_add(s, name, len - end);
	script->engines |= script_kinds[kind].engine;
	script->glibc = script_kinds[kind].glibc;
	if (script->question[0])
		return;
	path = kf_format("%s/%s", dir, name);
	free(script->question);
	script->question = question_of(path);
	free(path);
}

static int scripts_by_name(const void *a, const void *b)
{
	return strcmp(((const struct kf_script *)a)->name,
		      ((const struct kf_script *)b)->name);
}

void kf_scripts_find(struct kf_scripts *s)
{
	memset(s, 0, sizeof(*s));
	s->dir = kf_scripts_dir();
	for (size_t i = 0; i < KF_ARRAY_SIZE(script_kinds); i++) {
		char *path = kf_format("%s/%s", s->dir, script_kinds[i].dir);
		DIR *dir = opendir(path);
		struct dirent *de;

		while (dir && (de = readdir(dir)))
			take_file(s, path, de->d_name, i);
		if (dir)
			closedir(dir);
		free(path);
	}
	if (s->nr)
		qsort(s->script, s->nr, sizeof(*s->script), scripts_by_name);
}

void kf_scripts_release(struct kf_scripts *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->script[i].name);
		free(s->script[i].question);
	}
	free(s->script);
	free(s->dir);
	memset(s, 0, sizeof(*s));
}

const struct kf_script *kf_scripts_get(const struct kf_scripts *s,
				       const char *name)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (!strcmp(s->script[i].name, name))
			return &s->script[i];
	}
	return NULL;
}
