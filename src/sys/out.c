/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages on stderr: see out.h.
 */
#include "sys/out.h"

#include "base/text.h"
#include "sys/call.h"

#include <stdlib.h>

void kf_out(const struct kf_text *text)
{
	kf_sys(SYS_write, STDERR_FILENO, text->buf, text->len);
}

void kf_out_die(const struct kf_text *text)
{
	kf_out(text);
	abort();
}
