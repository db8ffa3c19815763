/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the engine: see choose.h.
 */
#include "core/choose.h"

#include "core/conf.h"
#include "core/hosted.h"

#include "base/text.h"
#include "sys/out.h"

/* What is to stand yet. */
static const struct konf_engine *late;

static void refuse(const char *why)
{
	char buf[512];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: KONFISCATOR_ENGINE=");
	kf_text_str(&text, kf_conf.engine);
	kf_text_str(&text, ": ");
	kf_text_str(&text, why);
	kf_text_str(&text, "; the default stays");
	kf_text_char(&text, '\n');
	kf_out(&text);
}

static void stand(const struct konf_engine *engine)
{
	const char *why = kf_hosted_stand(engine);

	if (why)
		refuse(why);
}

void kf_engine_choose(void)
{
	const struct konf_engine *engine = kf_engine_find(kf_conf.engine);

	if (!engine || engine == kf_engine_find(NULL))
		return;
	if (engine->flags & KONF_ENGINE_LATE)
		late = engine;
	else
		stand(engine);
}

void kf_engine_choose_late(void)
{
	const struct konf_engine *engine = late;

	late = NULL;
	if (engine)
		stand(engine);
}

const char *kf_engine_name(void)
{
	const struct konf_engine *engine = late ? late : kf_hosted_engine();

	return engine ? engine->name : kf_engine_find(NULL)->name;
}
