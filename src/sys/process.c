/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about the process and the thread: see process.h.
 */
#include "sys/process.h"

#include "base/text.h"
#include "sys/call.h"
#include "sys/file.h"
#include "sys/next.h"
#include "sys/thread.h"
#include "sys/vm.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#define PAUSE_NS 50000
#define NS_PER_S 1000000000u

bool kf_process_barred;

bool kf_process_bar(bool barred)
{
	return __atomic_exchange_n(&kf_process_barred, barred,
				   __ATOMIC_RELAXED);
}

int32_t kf_process_pid(void)
{
	return kf_process_is_barred() ? 0 : (int32_t)kf_sys(SYS_getpid);
}

/* The first thread of the process, known while system calls are barred. */
static struct {
	uintptr_t self; /* kf_thread_self(); 0: unknown */
	int32_t tid;
	char comm[KF_COMM_SIZE];
} first;

void kf_process_note_first(void)
{
	first.self = 0;
	first.tid = kf_process_tid();
	kf_process_comm(first.comm);
	first.self = kf_thread_self();
}

int32_t kf_process_tid(void)
{
	if (!kf_process_is_barred())
		return (int32_t)kf_sys(SYS_gettid);
	return first.self == kf_thread_self() ? first.tid : 0;
}

uint32_t kf_process_uid(void)
{
	return (uint32_t)kf_sys(SYS_geteuid);
}

/* Capabilities that pass over file permissions; daemons may keep some. */
#define FILE_CAPABILITIES                                              \
	(1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | \
	 1U << CAP_SETUID)

static bool passes_over_permissions(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

	return kf_sys(SYS_capget, &head, caps) < 0 ||
	       caps[0].permitted & FILE_CAPABILITIES;
}

bool kf_process_is_users(uint32_t uid)
{
	uid_t real, effective, saved;

	return kf_sys(SYS_getresuid, &real, &effective, &saved) == 0 &&
	       real == uid && effective == uid && saved == uid &&
	       !passes_over_permissions();
}

void kf_process_comm(char comm[KF_COMM_SIZE])
{
	comm[0] = '\0';
	if (!kf_process_is_barred())
		kf_sys(SYS_prctl, PR_GET_NAME, comm, 0, 0, 0);
	else if (first.self == kf_thread_self())
		memcpy(comm, first.comm, KF_COMM_SIZE);
	comm[KF_COMM_SIZE - 1] = '\0';
}

bool kf_process_is_filtered(void)
{
	long mode = kf_sys(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);

	/* -EINVAL: a kernel without seccomp; others: a filter refused the call.
	 */
	return mode > 0 || (mode < 0 && mode != -EINVAL);
}

uint64_t kf_process_address_limit(void)
{
	static uint64_t last = UINT64_MAX; /* atomic */
	struct rlimit limit;

	if (!kf_process_is_barred() &&
	    kf_sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0)
		kf_store(&last, limit.rlim_cur);
	return kf_load(&last);
}

typedef int gettime_fn(clockid_t clock, struct timespec *ts);

/*
 * The C library's clock_gettime(): that of another preloaded library may
 * allocate (libfaketime's does), and the caller may hold locks.
 */
static gettime_fn *find_gettime(void)
{
	static gettime_fn *found; /* atomic; all threads find the same */
	gettime_fn *fn = kf_load(&found);

	if (unlikely(!fn)) {
		fn = (gettime_fn *)kf_next_libc("clock_gettime");
		if (!fn)
			fn = clock_gettime;
		kf_store(&found, fn);
	}
	return fn;
}

uint64_t kf_process_clock_ns(int clock)
{
	struct timespec ts = {0, 0};
	int saved = errno;

	if (find_gettime()(clock, &ts))
		errno = saved;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t kf_process_random(void)
{
	uint64_t n;

	if (!kf_process_is_barred() &&
	    kf_sys(SYS_getrandom, &n, sizeof(n), GRND_NONBLOCK) == sizeof(n))
		return n;
	/* Next best: the clock, and a stack address, which is randomized. */
	n = kf_process_clock_ns(CLOCK_MONOTONIC) ^ (uintptr_t)&n;
	return (n ^ (uint64_t)kf_process_pid() << 40) * 0x9e3779b97f4a7c15;
}

static bool has_membarrier; /* constant after the start */

static bool membarrier(int command)
{
	return kf_sys(SYS_membarrier, command, 0, 0) == 0;
}

void kf_process_membarrier_init(void)
{
	has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool kf_process_has_membarrier(void)
{
	return has_membarrier && !kf_process_is_barred();
}

bool kf_process_membarrier(void)
{
	return kf_process_has_membarrier() &&
	       membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void kf_process_pause(void)
{
	struct timespec ts = {0, PAUSE_NS};
	uint32_t word = 0;

	kf_sys(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

bool kf_process_is_gone(int32_t pid)
{
	return kf_sys(SYS_kill, (long)pid, 0L) == -ESRCH;
}

void kf_process_memory(uint64_t *size, uint64_t *resident)
{
	char statm[128];
	const char *p = statm;

	*size = *resident = 0;
	if (kf_file_read("/proc/self/statm", statm, sizeof(statm)) <= 0)
		return;
	*size = kf_parse_digits(&p, 10) * kf_vm_page();
	p += *p == ' ';
	*resident = kf_parse_digits(&p, 10) * kf_vm_page();
}
