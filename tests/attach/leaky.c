/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A redis module that leaks: LEAKY.ASK allocates 128 bytes, writes into them
 * and forgets them. What it needs of redis' interface of modules is declared
 * here: a context begins with a function that gives the others by their names.
 */
#include <stdlib.h>
#include <string.h>

#define OK 0
#define ERR 1
#define API_VERSION 1
#define LEAK 128

typedef int (*command)(void *ctx, void **argv, int argc);

static int (*reply)(void *ctx, long long value);

int leaky_forget(const char *text);
int RedisModule_OnLoad(void *ctx, void **argv, int argc);

__attribute__((noinline)) int leaky_forget(const char *text)
{
	char *volatile copy = malloc(LEAK);

	if (!copy)
		return 0;
	memset(copy, text[0], LEAK);
	return copy[LEAK - 1];
}

static int leaky_ask(void *ctx, void **argv, int argc)
{
	(void)argv, (void)argc;
	return reply(ctx, leaky_forget("answer"));
}

int RedisModule_OnLoad(void *ctx, void **argv, int argc)
{
	int (*get)(const char *name, void *to) = NULL;
	void (*set)(void *ctx, const char *name, int version, int api) = NULL;
	int (*create)(void *ctx, const char *name, command run,
		      const char *flags, int first, int last, int step) = NULL;

	(void)argv, (void)argc;
	memcpy(&get, ctx, sizeof(get));
	if (get("RedisModule_SetModuleAttribs", &set) ||
	    get("RedisModule_CreateCommand", &create) ||
	    get("RedisModule_ReplyWithLongLong", &reply))
		return ERR;
	set(ctx, "leaky", 1, API_VERSION);
	return create(ctx, "leaky.ask", leaky_ask, "readonly", 0, 0, 0);
}
