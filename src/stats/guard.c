/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SIGBUS, when the file is truncated while it is mapped.
 *
 * The handler maps memory in place of the file: the counts so far are lost, and
 * the program runs on. Every other SIGBUS kills as without the handler. A
 * program that handles, ignores or blocks the signal itself is not guarded.
 */
#include "config.h"

#include "stats/internal.h"

#include "sys/fault.h"
#include "sys/vm.h"

#include <errno.h>
#include <signal.h>

/*
 * glibc's own name: the sigaction() of another preloaded library may allocate
 * before this library is ready.
 */
extern int __sigaction(int sig, const struct sigaction *act,
		       struct sigaction *old);

static bool (*repair_other)(const char *addr); /* or NULL; atomic */

static bool lies_in_file(const char *addr)
{
	size_t nr = kf_load(&kf_stats.nr_slots);

	return (kf_stats.base && addr >= kf_stats.base &&
		addr < kf_stats.base + kf_image_size(nr)) ||
	       kf_area_holds(addr);
}

/*
 * Replace the whole image, not one page: the rest of the file may be truncated
 * as well. Two threads that fault at once do it twice, which loses a few more
 * counts.
 */
static bool guard_put_memory(void)
{
	size_t nr = kf_load(&kf_stats.nr_slots);

	kf_store(&kf_stats.counts_lost, true);
	kf_store(&kf_stats.on_file, false);
	kf_stats.error = ESTALE;
	return kf_vm_put_memory(kf_stats.base, kf_image_size(nr)) &&
	       kf_area_clear();
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	bool (*other)(const char *addr) = kf_load(&repair_other);

	if (info->si_code == BUS_ADRERR && lies_in_file(info->si_addr) &&
	    guard_put_memory())
		return;
	if (info->si_code == BUS_ADRERR && other && other(info->si_addr))
		return;
	kf_fault_die(sig, info);
}

void kf_guard_also(bool (*repair)(const char *addr))
{
	kf_store(&repair_other, repair);
	kf_guard_install();
}

void kf_guard_install(void)
{
	struct sigaction act = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	struct sigaction old;
	int saved = errno;

	if (!__sigaction(SIGBUS, NULL, &old) && !(old.sa_flags & SA_SIGINFO) &&
	    old.sa_handler == SIG_DFL)
		__sigaction(SIGBUS, &act, NULL);
	errno = saved;
}

void kf_guard_remove(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	struct sigaction now;
	int saved = errno;

	if (!__sigaction(SIGBUS, NULL, &now) && now.sa_flags & SA_SIGINFO &&
	    now.sa_sigaction == on_sigbus)
		__sigaction(SIGBUS, &dfl, NULL);
	errno = saved;
}
