/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library's only voice: see out.h.
 */
#include "sys/out.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void kf_out(const struct kf_text *text)
{
	int saved = errno;

	/* Not write(3): that is a cancellation point. */
	syscall(SYS_write, STDERR_FILENO, text->buf, text->len);
	errno = saved;
}

void kf_out_die(const struct kf_text *text)
{
	kf_out(text);
	abort();
}
