/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mallopt: see core/tune.h.
 */
#include "core/core.h"
#include "engines/host.h"
#include "core/tune.h"

#include "probes/konfiscator-probes.h"

#include <malloc.h>

__kf_public int mallopt(int param, int value)
{
	int good;

	if (kf_start_is_due())
		kf_start();
	kf_probe_memory_mallopt((uint64_t)(int64_t)param,
				(uint64_t)(int64_t)value);
	if (kf_engine->mallopt)
		return kf_engine->mallopt(param, value);
	good = kf_tune(param, value);
	/* Blocks are filled by the core, whatever engine serves. */
	if (good && param != M_PERTURB)
		kf_host_option(param, value);
	return good;
}
