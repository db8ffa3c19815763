/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cheap clock: see clock.h.
 */
#include "sys/clock.h"

#include "sys/file.h"

#include <string.h>

#define SOURCE \
	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

bool kf_clock_is_tsc;

/* The kernel checks the counter and leaves it for another clock if it is bad.
 */
void kf_clock_init(void)
{
#if defined(__x86_64__)
	char source[16];

	kf_clock_is_tsc = kf_file_read(SOURCE, source, sizeof(source)) > 0 &&
			  !strcmp(source, "tsc\n");
#endif
}
