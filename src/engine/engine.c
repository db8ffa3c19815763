/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of engines: see engine.h.
 */
#include "engine/engine.h"

#include <string.h>

static const struct kf_engine *const engines[] = {
#define KF_ENGINE(id, help) &kf_engine_##id,
#include "engine/engines.def"
#undef KF_ENGINE
};

const struct kf_engine *kf_engine = &kf_engine_firstfit;

const struct kf_engine *kf_engine_find(const char *name)
{
	if (!name)
		return engines[0];
	for (size_t i = 0; i < KF_ARRAY_SIZE(engines); i++) {
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	}
	return NULL;
}
