/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mallopt: see core/tune.h.
 */
#include "core/core.h"
#include "engines/host.h"
#include "core/tune.h"
#include "engines/engine.h"
#include "heap/backend.h"

#include "probes/konfiscator-probes.h"

#include <malloc.h>

__kf_public int mallopt(int param, int value)
{
	const struct kf_engine_extra *extra = kf_engine_extra(kf_host_engine());
	int good;

	if (kf_start_is_due())
		kf_start();
	kf_probe_memory_mallopt((uint64_t)(int64_t)param,
				(uint64_t)(int64_t)value);
	extra = kf_engine_extra(kf_host_engine());
	if (extra->mallopt)
		return extra->mallopt(param, value);
	good = kf_tune(param, value);
	/* New and freed blocks are filled already. */
	if (good && param != M_PERTURB)
		kf_backend->option(param, value);
	return good;
}
