/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is killed before it allocates. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	return kill(getpid(), SIGKILL);
}
