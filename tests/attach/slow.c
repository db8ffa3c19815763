/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library whose constructor returns when the file KF_GO exists. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void wait_to_go(void)
{
	while (access(getenv("KF_GO"), F_OK))
		usleep(10000);
}
