/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A library for dlopen that allocates in its constructor, in its functions and
 * in its destructor, and has thread-local storage too large for the static
 * block.
 */
#include <stdlib.h>
#include <string.h>

char *plugin_make(size_t n);
void plugin_drop(char *p);
char *plugin_tls(void);
int plugin_constructed(void);

/* What the destructor calls, where the program sets it. */
void (*plugin_at_destruction)(void);

static _Thread_local char tls[20000];
static char *kept;

char *plugin_make(size_t n)
{
	char *p = malloc(n);

	return p ? memset(p, 'p', n) : NULL;
}

void plugin_drop(char *p)
{
	free(realloc(p, 1));
}

char *plugin_tls(void)
{
	return tls;
}

int plugin_constructed(void)
{
	return kept && kept[0] == 'p' && kept[99] == 'p';
}

__attribute__((constructor)) static void construct(void)
{
	kept = plugin_make(100);
}

__attribute__((destructor)) static void destruct(void)
{
	plugin_drop(kept);
	plugin_drop(plugin_make(70000));
	if (plugin_at_destruction)
		plugin_at_destruction();
}
