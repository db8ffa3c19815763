// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The library's constructor and destructor.
 */
#include "core/core.h"

__attribute__((constructor)) static void load(void)
{
	kf_start_loaded();
}

__attribute__((destructor)) static void finish(void)
{
	kf_start_finish();
}
