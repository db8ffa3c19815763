/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the engine: see choose.h.
 */
#include "core/choose.h"

#include "core/conf.h"
#include "engines/host.h"
#include "stats/stats.h"
#include "sys/next.h"
#include "sys/out.h"
#include "sys/valgrind.h"

#include "base/text.h"

#include <string.h>

#define NAME_MAX_BYTES 15
#define DEFAULT_STAYS "; the default stays\n"

/* The engine is still to be installed, by kf_engine_choose_late(). */
static bool is_due = true;

/* Messages of the dynamic linker begin with the path, as this line does. */
static const char *without_path(const char *why)
{
	size_t len = strlen(kf_conf.engine);

	if (!strncmp(why, kf_conf.engine, len) && why[len] == ':' &&
	    why[len + 1] == ' ')
		return why + len + 2;
	return why;
}

static void refuse(const char *why, const char *then)
{
	char buf[768];
	struct kf_text text;

	kf_conf_begin_line(&text, buf, sizeof(buf), "KONFISCATOR_ENGINE",
			   kf_conf.engine);
	kf_text_ascii(&text, without_path(why), 256);
	kf_text_str(&text, then);
	kf_out(&text);
}

static void install(const struct kf_engine *engine)
{
	const char *why = kf_host_install(engine);

	if (why)
		refuse(why, DEFAULT_STAYS);
}

/* Secure mode is an engine; the option `engine` cannot choose another. */
static void choose_secure(void)
{
	const char *name = kf_engine_secure.base.name;

	if (!kf_conf.secure)
		return;
	if (kf_conf.engine && strcmp(kf_conf.engine, name) != 0)
		refuse("KONFISCATOR_SECURE=1 is set",
		       "; using the engine secure\n");
	kf_conf.engine = name;
}

/*
 * memcheck puts its own malloc in place of the C library's: with the engine
 * that passes on, it knows each block to the byte, and all is counted too.
 */
static void choose_for_memcheck(void)
{
	if (!kf_conf.engine && kf_memcheck_is_on())
		kf_conf.engine = kf_engine_system.base.name;
}

void kf_engine_choose(void)
{
	const struct kf_engine *engine;

	choose_secure();
	choose_for_memcheck();
	engine = kf_engine_find(kf_conf.engine);

	if (!engine || engine->base.flags & KONF_ENGINE_LATE)
		return;
	is_due = false;
	if (engine != kf_engine)
		install(engine);
}

static bool is_name(const char *name)
{
	size_t len = 0;

	while (len <= NAME_MAX_BYTES &&
	       ((name[len] >= 'a' && name[len] <= 'z') ||
		(name[len] >= '0' && name[len] <= '9') || name[len] == '-'))
		len++;
	return len && len <= NAME_MAX_BYTES && !name[len];
}

/* "is of version 2 of the engine contract, not 1", and the like. */
static const char *other_number(const char *of, uint32_t has, const char *what,
				uint32_t wanted)
{
	static char words[128];
	struct kf_text text;

	kf_text_init(&text, words, sizeof(words));
	kf_text_str(&text, of);
	kf_text_u64(&text, has);
	kf_text_str(&text, what);
	kf_text_u64(&text, wanted);
	return words;
}

/* Why an engine from outside cannot be used, or NULL. */
static const char *fault(const struct konf_engine *engine)
{
	if (engine->version != KONF_ENGINE_VERSION)
		return other_number("is of version ", engine->version,
				    " of the engine contract, not ",
				    KONF_ENGINE_VERSION);
	if (engine->size != sizeof(*engine))
		return other_number("its konf_engine has ", engine->size,
				    " bytes, not ", (uint32_t)sizeof(*engine));
	if (engine->flags & ~KONF_ENGINE_FLAGS)
		return "its konf_engine has unknown flags";
	if (!engine->name || !is_name(engine->name))
		return "its konf_engine has no name of 1 to 15 of a-z, 0-9 "
		       "and -";
	if (!engine->alloc)
		return "its konf_engine has no alloc";
	if (!engine->free)
		return "its konf_engine has no free";
	if (!engine->usable_size)
		return "its konf_engine has no usable_size";
	return NULL;
}

static void choose_load(const char *path)
{
	static struct kf_engine outside;
	void *symbol = NULL;
	const char *why = kf_next_load(path, KONF_ENGINE_SYMBOL, &symbol);

	if (!why)
		why = fault(symbol);
	if (why) {
		refuse(why, DEFAULT_STAYS);
		return;
	}
	outside.base = *(const struct konf_engine *)symbol;
	install(&outside);
}

void kf_engine_choose_late(void)
{
	const struct kf_engine *engine = kf_engine_find(kf_conf.engine);

	if (!is_due)
		return;
	is_due = false;
	if (engine)
		install(engine);
	else
		choose_load(kf_conf.engine);
	kf_stats_name_engine(kf_engine->base.name);
}
